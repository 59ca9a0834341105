"""Waiting for a database: at once for what is wrong, patiently for what is silent, under virtual time."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
import structlog
import trio
from trio.testing import MockClock

from tenure_postgres.readiness import Finding
from tenure_process.usable import LONGEST_PAUSE_S, SHORTEST_PAUSE_S, Unusable, pauses, wait_usable

SILENT = Finding("unavailable", "nobody answers")
WRONG = Finding("configuration", "no schema")


class Looks:
    """Finds what it was told to, one look after the other; the last one for ever."""

    def __init__(self, *findings: Iterable[Finding]) -> None:
        self.told: list[str] = []
        self.count = 0
        self._findings = [tuple(found) for found in findings]

    async def find(self) -> tuple[Finding, ...]:
        self.count += 1
        return self._findings.pop(0) if len(self._findings) > 1 else self._findings[0]

    async def wait(self, budget_s: float = 60.0, *, patient: bool = False) -> None:
        with structlog.testing.capture_logs():
            await wait_usable(self.find, trio.current_time() + budget_s, self.told.append, patient=patient)


async def test_a_usable_database_is_not_waited_for(autojump_clock: MockClock) -> None:
    looks = Looks([])
    await looks.wait(0.0)
    assert (looks.count, looks.told, trio.current_time()) == (1, [], 0)


async def test_a_silent_database_is_tried_again(autojump_clock: MockClock) -> None:
    looks = Looks([SILENT], [SILENT], [])
    await looks.wait()
    assert looks.told == ["nobody answers"] * 2


async def test_a_silent_database_is_given_up_at_the_deadline(autojump_clock: MockClock) -> None:
    looks = Looks([SILENT])
    with pytest.raises(Unusable, match="nobody answers") as caught:
        await looks.wait(60.0)
    assert caught.value.temporary
    assert 60 - LONGEST_PAUSE_S <= trio.current_time() <= 60
    assert looks.count > 60 / LONGEST_PAUSE_S


async def test_a_wrong_database_is_told_at_once(autojump_clock: MockClock) -> None:
    looks = Looks([SILENT, WRONG, WRONG])
    with pytest.raises(Unusable) as caught:
        await looks.wait()
    assert not caught.value.temporary
    assert str(caught.value) == "nobody answers; no schema"
    assert trio.current_time() == 0


async def test_the_patient_wait_for_both_for_ever(autojump_clock: MockClock) -> None:
    looks = Looks(*[[WRONG]] * 50, *[[SILENT]] * 50, [])
    await looks.wait(0.0, patient=True)
    assert looks.count == 101


def test_pauses_grow_to_a_bound_and_differ() -> None:
    one, other = pauses(), pauses()
    seen = [next(one) for _ in range(20)]
    assert seen[0] <= SHORTEST_PAUSE_S
    assert LONGEST_PAUSE_S / 2 <= seen[-1] <= LONGEST_PAUSE_S
    assert seen != [next(other) for _ in range(20)]
