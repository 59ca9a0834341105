"""Signals and a parent's orders: what a process hears of both."""

from __future__ import annotations

import signal
from collections.abc import AsyncIterator

import pytest
import trio
from trio.testing import memory_stream_one_way_pair, wait_all_tasks_blocked

from tenure_process.family.orders import obeying

TERM, HUP = signal.SIGTERM, signal.SIGHUP


class Both:
    """A parent and a supervisor, who may both say something."""

    def __init__(self) -> None:
        self.signals, self.received = trio.open_memory_channel[int](8)
        self.parent, self.stream = memory_stream_one_way_pair()

    async def say(self, side: str, number: int) -> None:
        if side == "parent":
            await self.parent.send_all(bytes([number]))
        else:
            self.signals.send_nowait(number)
        await wait_all_tasks_blocked()


@pytest.mark.parametrize(
    ("said", "heard"),
    [
        ([("parent", TERM)], [TERM]),
        ([("signal", TERM)], [TERM]),
        ([("signal", TERM), ("parent", TERM)], [TERM]),
        ([("parent", TERM), ("signal", signal.SIGINT)], [TERM]),
        ([("parent", TERM), ("parent", TERM)], [TERM, TERM]),
        ([("signal", TERM), ("signal", TERM), ("parent", TERM), ("parent", TERM)], [TERM, TERM]),
        ([("signal", HUP), ("parent", HUP), ("parent", HUP)], [HUP, HUP, HUP]),
        ([("parent", HUP), ("parent", TERM), ("signal", HUP), ("signal", TERM)], [HUP, TERM, HUP]),
    ],
)
async def test_the_same_said_by_both_is_said_once(said: list[tuple[str, int]], heard: list[int]) -> None:
    both = Both()
    assert await heard_of(both, said) == heard


async def test_a_parent_that_is_gone_means_stop() -> None:
    both = Both()
    await both.parent.aclose()
    assert await heard_of(both, []) == [TERM]


@pytest.mark.parametrize("side", ["signal", "parent"])
async def test_a_parent_that_asked_and_died_did_not_ask_twice(side: str) -> None:
    both = Both()
    await both.say(side, TERM)
    await both.parent.aclose()
    assert await heard_of(both, []) == [TERM]


async def heard_of(both: Both, said: list[tuple[str, int]]) -> list[int]:
    heard: list[int] = []

    async def hear(orders: AsyncIterator[int]) -> None:
        async for number in orders:
            heard.append(number)  # noqa: PERF401 - it is cancelled in the end, and what came by then counts

    async with obeying(both.received, both.stream) as orders, trio.open_nursery() as nursery:
        nursery.start_soon(hear, orders)
        for side, number in said:
            await both.say(side, number)
        await wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()
    return heard
