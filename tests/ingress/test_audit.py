"""Refusals on their way into the audit, under virtual time: how often, how much, and what an outage costs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, cast

import pytest
import structlog
import trio
from trio.testing import MockClock

from tenure_contracts.identity import Token
from tenure_ingress.operation.audit import PERIOD_S, audit, flush
from tenure_ingress.refusal import KINDS_KEPT, KINDS_TOLD, Refusals
from tenure_postgres.database import Database
from tenure_postgres.error import DatabaseError, OutcomeUnknown, Unavailable

LONGEST = Token("z" * 32, bytes(32))


class Audit:
    """A database that keeps the reports, or raises `error`."""

    def __init__(self) -> None:
        self.error: DatabaseError | None = None
        self.recorded = True
        self.reports: list[Any] = []
        self.times: list[float] = []

    async def call(self, unit: Any, *, deadline_s: float) -> list[dict[str, bool]]:
        await trio.lowlevel.checkpoint()
        if self.error is not None:
            raise self.error
        await unit(self)
        return [{"recorded": self.recorded}]

    async def fetch(self, sql: str, process: object, report: str) -> Sequence[object]:
        """What the unit sends."""
        await trio.lowlevel.checkpoint()
        self.times.append(trio.current_time())
        self.reports.append(json.loads(report))
        return []

    @property
    def database(self) -> Database:
        return cast(Database, self)


def refuse(refusals: Refusals, times: int = 1, peer: str = "10.0.0.1") -> None:
    for _ in range(times):
        refusals.count("credential_refused", peer, LONGEST)


async def test_a_minute_is_one_row_and_a_quiet_one_is_none(autojump_clock: MockClock) -> None:
    store, refusals = Audit(), Refusals()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(audit, refusals, store.database)
        for _ in range(300):
            refuse(refusals)
            await trio.sleep(1)
        await trio.sleep(300)
        nursery.cancel_scope.cancel()
    assert sum(report["codes"]["credential_refused"] for report in store.reports) == 300
    pauses = [later - earlier for earlier, later in zip(store.times, store.times[1:], strict=False)]
    assert len(store.times) in (5, 6)
    assert min(pauses) >= PERIOD_S


async def test_the_counts_outlive_an_outage(autojump_clock: MockClock) -> None:
    store, refusals = Audit(), Refusals()
    refuse(refusals, 2)
    store.error = Unavailable("gone")
    with structlog.testing.capture_logs() as log:
        await flush(refusals, store.database)
    refuse(refusals, 3)
    store.error = None
    await trio.sleep(90)
    await flush(refusals, store.database)
    assert [entry["event"] for entry in log] == ["refusals_wait"]
    (report,) = store.reports
    assert report == {
        "seconds": 90,
        "codes": {"credential_refused": 5},
        "most": [{"code": "credential_refused", "peer": "10.0.0.1", "credential": "z" * 32, "count": 5}],
        "others": 0,
    }


async def test_what_may_have_been_written_is_not_written_again(autojump_clock: MockClock) -> None:
    store, refusals = Audit(), Refusals()
    refuse(refusals)
    store.error = OutcomeUnknown("who knows")
    with structlog.testing.capture_logs() as log:
        await flush(refusals, store.database)
    store.error = None
    await flush(refusals, store.database)
    assert store.reports == []
    assert [entry["event"] for entry in log] == ["refusals_not_audited"]


async def test_a_report_that_the_database_does_not_take_is_said(autojump_clock: MockClock) -> None:
    store, refusals = Audit(), Refusals()
    store.recorded = False
    refuse(refusals)
    with structlog.testing.capture_logs() as log:
        await flush(refusals, store.database)
    assert [(entry["event"], entry["codes"]) for entry in log] == [
        ("refusals_not_audited", {"credential_refused": 1})
    ]


@pytest.mark.parametrize("outage", [False, True])
async def test_memory_and_report_are_bounded(autojump_clock: MockClock, outage: bool) -> None:
    refusals = Refusals()
    for number in range(4 * KINDS_KEPT):
        refuse(refusals, peer=f"2001:db8:{number:x}:ffff::1")
        if outage and number % KINDS_KEPT == 0:
            tally = refusals.take()
            assert tally is not None
            refusals.put_back(tally)
    refuse(refusals, 9, "2001:db8:1:ffff::1")
    tally = refusals.take()
    assert tally is not None
    assert len(tally.kinds) == KINDS_KEPT
    report = tally.report(trio.current_time())
    assert len(json.dumps(report)) < 4096
    most = cast(Any, report["most"])
    assert (len(most), most[0]["count"]) == (KINDS_TOLD, 10)
    assert report["others"] == 4 * KINDS_KEPT + 9 - 10 - (KINDS_TOLD - 1)
