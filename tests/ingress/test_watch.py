"""Readiness with hysteresis, under virtual time: what the watch asks, and when it believes the answers."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, cast

import pytest
import trio
from trio.testing import MockClock

from tenure_http.probe import Readiness, Status
from tenure_ingress.database import EXACTLY_EVERY, LOOK_S, watch
from tenure_postgres.database import Database
from tenure_postgres.error import Busy, DatabaseError, Unavailable
from tenure_postgres.readiness import READ_ONLY, Finding

LONGEST_LOOK_S = LOOK_S * 1.1


class Answers:
    """A database that answers as told: whether at all, and whether it is exactly as it must be."""

    def __init__(self) -> None:
        self.error: DatabaseError | None = None
        self.times = math.inf
        self.faults: tuple[Finding, ...] = ()
        self.read_only = False

    async def fetch(self, unit: object, *, deadline_s: float) -> list[dict[str, bool]]:
        await trio.lowlevel.checkpoint()
        if self.error is not None and self.times > 0:
            self.times -= 1
            raise self.error
        return [{"read_only": self.read_only}]

    async def find(self, database: object) -> tuple[Finding, ...]:
        await trio.lowlevel.checkpoint()
        return self.faults


class Remembering(Readiness):
    """Remembers what it was told to be."""

    def __init__(self) -> None:
        super().__init__()
        self.said: list[Status] = []

    def become(self, status: Status, *reasons: str) -> None:
        super().become(status, *reasons)
        self.said.append(status)


@asynccontextmanager
async def watched(answers: Answers, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Remembering]:
    monkeypatch.setattr("tenure_ingress.database.find_faults", answers.find)
    readiness = Remembering()
    readiness.become("ready")
    async with trio.open_nursery() as nursery:
        nursery.start_soon(watch, cast("Database", cast("Any", answers)), readiness)
        yield readiness
        nursery.cancel_scope.cancel()


async def looks(count: int) -> None:
    """Let the watch look so often."""
    await trio.sleep(count * LONGEST_LOOK_S)


async def test_one_slow_answer_is_no_outage(
    autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = Answers()
    async with watched(answers, monkeypatch) as readiness:
        answers.error = Unavailable("gone")
        for _ in range(5):
            answers.times = 1
            await looks(3)
        assert (readiness.said, answers.times) == (["ready"], 0)
        answers.times = 2
        await looks(2)  # at most one of three: two good ones would be the end of it
        assert (readiness.status, readiness.reasons) == ("unavailable", ("gone",))


async def test_a_busy_database_answers(autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch) -> None:
    answers = Answers()
    answers.error = Busy("no connection became free")
    async with watched(answers, monkeypatch) as readiness:
        await looks(10)
        assert readiness.status == "ready"


async def test_a_server_that_became_read_only_is_one_that_is_gone(
    autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = Answers()
    async with watched(answers, monkeypatch) as readiness:
        answers.read_only = True
        await looks(3)
        assert (readiness.status, readiness.reasons) == ("unavailable", (READ_ONLY,))


async def test_what_was_taken_away_from_a_process_that_serves_is_noticed(
    autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = Answers()
    async with watched(answers, monkeypatch) as readiness:
        answers.faults = (Finding("configuration", "tenure_ingress lacks EXECUTE"),)
        await looks(EXACTLY_EVERY + 2)
        assert (readiness.status, readiness.reasons) == ("unavailable", ("tenure_ingress lacks EXECUTE",))
        answers.faults = ()
        await looks(3)
        assert readiness.serves


async def test_a_server_too_busy_to_be_compared_is_none_that_is_wrong(
    autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = Answers()
    async with watched(answers, monkeypatch) as readiness:
        answers.faults = (Finding("unavailable", "no connection became free"),)
        await looks(3 * EXACTLY_EVERY)
        assert readiness.said == ["ready"]


async def test_what_comes_back_must_be_exactly_right(
    autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = Answers()
    async with watched(answers, monkeypatch) as readiness:
        answers.error = Unavailable("gone")
        await looks(3)
        answers.error = None
        answers.faults = (Finding("configuration", "the server is read-only"),)
        await looks(10)
        assert not readiness.serves
        answers.faults = ()
        await looks(3)
        assert readiness.serves
