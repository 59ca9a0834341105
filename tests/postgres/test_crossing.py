"""A task that ends in the very moment in which its waiter is cancelled: what it returned is not lost.

Two event loops cannot be made to do that at will, so the task is one whose end the test decides.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, cast

import pytest
import trio
import trio.testing

from tenure_postgres.crossing import Crossing


class Task:
    """As much of an asyncio task, and of the loop that makes it, as a crossing uses."""

    def __init__(self) -> None:
        self.is_cancelled = False
        self._result: str | None = None
        self._callbacks: list[Callable[[Any], None]] = []

    def create_task(self, _: object) -> Task:
        return self

    def add_done_callback(self, callback: Callable[[Any], None]) -> None:
        self._callbacks.append(callback)
        if self._result is not None:
            callback(self)

    def end(self, result: str) -> None:
        self._result = result
        for callback in self._callbacks:
            callback(self)

    def cancel(self) -> None:
        self.is_cancelled = self._result is None

    def cancelled(self) -> bool:
        return self.is_cancelled

    def exception(self) -> None:
        return None

    def result(self) -> str | None:
        return self._result


async def waiting(task: Task, scope: trio.CancelScope, disposed: list[str], deadline: float) -> bool | None:
    crossing: Crossing[str] = Crossing(cast(Any, task), cast(Any, None))
    with scope:
        return await crossing.wait_until(deadline, disposed.append)
    return None


@pytest.mark.parametrize("cancelled_first", [True, False])
async def test_what_ends_as_its_waiter_is_cancelled_is_disposed_of(
    autojump_clock: trio.abc.Clock, cancelled_first: bool
) -> None:
    task, scope, disposed = Task(), trio.CancelScope(), list[str]()
    ended: list[bool | None] = []

    async def wait() -> None:
        ended.append(await waiting(task, scope, disposed, math.inf))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(wait)
        await trio.testing.wait_all_tasks_blocked()
        if cancelled_first:
            scope.cancel()
        task.end("connection")
        scope.cancel()
    # Either the waiter has it, or it is gone; never neither.
    assert (ended, disposed) in [([None], ["connection"]), ([True], [])]
    assert not cancelled_first or disposed


async def test_a_deadline_abandons_the_task(autojump_clock: trio.abc.Clock) -> None:
    task, disposed = Task(), list[str]()
    assert await waiting(task, trio.CancelScope(), disposed, trio.current_time() + 3) is False
    assert (task.is_cancelled, disposed) == (True, [])
