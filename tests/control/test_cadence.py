"""The timer under virtual time: rests, wake-ups, coalesced re-entry, drains."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

import pytest
import trio
from trio.testing import MockClock

from tenure_control.cadence import Cadence, CadenceStoppedError


class BoomError(Exception):
    """What a broken cycle raises."""


class Cycles:
    """Counts cycles, each of which takes some seconds."""

    def __init__(self, lasts_s: float = 0.0) -> None:
        self.lasts_s = lasts_s
        self.began: list[float] = []
        self.ended: list[float] = []
        self.running = 0
        self.error: Exception | None = None

    async def run(self) -> int:
        """One cycle; its number."""
        self.running += 1
        assert self.running == 1, "two cycles overlap"
        self.began.append(trio.current_time())
        try:
            await trio.sleep(self.lasts_s)
            if self.error is not None:
                raise self.error
        finally:
            self.running -= 1
        self.ended.append(trio.current_time())
        return len(self.ended)


@asynccontextmanager
async def driven(cadence: Cadence[int]) -> AsyncIterator[None]:
    """Have a cadence for the block."""
    async with trio.open_nursery() as nursery:
        await nursery.start(cadence.run)
        yield
        await cadence.drain(60)


def since(times: list[float]) -> list[float]:
    """Times, counted from the first one."""
    return [round(time - times[0], 3) for time in times]


async def test_the_interval_counts_from_the_end_of_a_cycle(autojump_clock: MockClock) -> None:
    cycles = Cycles(lasts_s=2.5)
    async with driven(Cadence("test", cycles.run, interval_s=1)):
        await trio.sleep(10)
    assert since(cycles.began) == [0, 3.5, 7]


async def test_a_wake_up_ends_the_rest_and_many_are_one(autojump_clock: MockClock) -> None:
    cycles = Cycles(lasts_s=1)
    cadence = Cadence("test", cycles.run, interval_s=100)
    async with driven(cadence):
        await trio.sleep(5)
        for _ in range(10):
            cadence.wake()
        await trio.sleep(5)
    assert since(cycles.began) == [0, 5]


async def test_a_wake_up_during_a_cycle_makes_the_next_follow_at_once(autojump_clock: MockClock) -> None:
    cycles = Cycles(lasts_s=2)
    cadence = Cadence("test", cycles.run, interval_s=100)
    async with driven(cadence):
        await trio.sleep(1)
        cadence.wake()
        cadence.wake()
        await trio.sleep(20)
    assert since(cycles.began) == [0, 2]


async def test_a_saturated_cycle_is_followed_at_once(autojump_clock: MockClock) -> None:
    cycles = Cycles(lasts_s=1)
    async with driven(Cadence("test", cycles.run, interval_s=100, again=lambda number: number < 4)):
        await trio.sleep(50)
    assert since(cycles.began) == [0, 1, 2, 3]


async def test_a_hundred_callers_during_one_cycle_share_it(autojump_clock: MockClock) -> None:
    cycles, outcomes = Cycles(lasts_s=5), []
    cadence = Cadence("test", cycles.run, interval_s=100)

    async def call() -> None:
        outcomes.append(await cadence.run_once())

    async with driven(cadence), trio.open_nursery() as nursery:
        await trio.sleep(1)
        for _ in range(100):
            nursery.start_soon(call)
    assert outcomes == [1] * 100
    assert len(cycles.ended) == 1


async def test_cancelling_99_of_100_callers_changes_nothing(autojump_clock: MockClock) -> None:
    cycles, outcomes = Cycles(lasts_s=5), []
    cadence = Cadence("test", cycles.run, interval_s=100)

    async def call(patience_s: float) -> None:
        with trio.move_on_after(patience_s):
            outcomes.append(await cadence.run_once())

    async with driven(cadence), trio.open_nursery() as nursery:
        await trio.sleep(1)
        for number in range(100):
            nursery.start_soon(call, 60 if number == 50 else 1)
    assert outcomes == [1]
    assert since(cycles.ended) == [0]


async def test_a_caller_during_a_rest_ends_it(autojump_clock: MockClock) -> None:
    cycles = Cycles(lasts_s=1)
    cadence = Cadence("test", cycles.run, interval_s=100)
    async with driven(cadence):
        await trio.sleep(10)
        assert await cadence.run_once() == 2
        assert await cadence.run_once() == 3
    assert since(cycles.began) == [0, 10, 11]


async def test_an_exception_reaches_all_callers_and_the_timer_goes_on(autojump_clock: MockClock) -> None:
    cycles, seen = Cycles(lasts_s=1), []
    failures: list[Exception] = []
    cycles.error = BoomError()
    cadence = Cadence("test", cycles.run, interval_s=10, on_failure=failures.append)

    async def call() -> None:
        with pytest.raises(BoomError) as caught:
            await cadence.run_once()
        seen.append(caught.value)

    async with driven(cadence):
        async with trio.open_nursery() as nursery:
            for _ in range(5):
                nursery.start_soon(call)
        assert seen == [cycles.error] * 5
        cycles.error = None
        await trio.sleep(11.5)
    assert failures == [seen[0]]
    assert since(cycles.began) == [0, 11]
    assert len(cycles.ended) == 1


async def test_a_stop_during_a_cycle_drains_it(autojump_clock: MockClock) -> None:
    cycles, drained = Cycles(lasts_s=5), []
    cadence = Cadence("test", cycles.run, interval_s=1)
    async with trio.open_nursery() as nursery:

        async def drain() -> None:
            drained.append(await cadence.drain(10))

        await nursery.start(cadence.run)
        await trio.sleep(1)
        nursery.start_soon(drain)
        nursery.start_soon(drain)
        assert await cadence.run_once() == 1
    assert drained == [True, True]
    assert len(cycles.began) == 1
    with pytest.raises(CadenceStoppedError):
        await cadence.run_once()


async def test_a_drain_is_bounded(autojump_clock: MockClock) -> None:
    cycles, lost = Cycles(lasts_s=50), []
    cadence = Cadence("test", cycles.run)

    async def call() -> None:
        with pytest.raises(CadenceStoppedError):
            await cadence.run_once()
        lost.append(trio.current_time())

    async with trio.open_nursery() as nursery:
        await nursery.start(cadence.run)
        nursery.start_soon(call)
        await trio.sleep(1)
        began = trio.current_time()
        assert not await cadence.drain(10)
        assert trio.current_time() - began == 10
    assert len(lost) == 1
    assert cycles.ended == []


async def test_a_stop_during_a_rest_ends_it_without_another_cycle(autojump_clock: MockClock) -> None:
    cycles = Cycles()
    cadence = Cadence("test", cycles.run, interval_s=100)
    async with trio.open_nursery() as nursery:
        await nursery.start(cadence.run)
        await trio.sleep(1)
        assert await cadence.drain(10)
    assert len(cycles.began) == 1


async def test_cancelling_the_cadence_tells_those_who_wait(autojump_clock: MockClock) -> None:
    cadence = Cadence("test", partial(trio.sleep, 100))

    async def call() -> None:
        with pytest.raises(CadenceStoppedError):
            await cadence.run_once()

    async with trio.open_nursery() as outer:
        outer.start_soon(call)
        async with trio.open_nursery() as nursery:
            await nursery.start(cadence.run)
            await trio.sleep(1)
            nursery.cancel_scope.cancel()
