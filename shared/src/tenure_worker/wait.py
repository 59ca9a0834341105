"""Waiting for the first of several things, and being woken."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import anyio


async def wait_first(**waits: Callable[[], Awaitable[object]]) -> str:
    """Wait for several things at once and return the name of the one that came first.

    The others are cancelled. When several are there already, the one named first in the call wins.
    """
    came: set[str] = set()

    async def wait_one(name: str, wait: Callable[[], Awaitable[object]]) -> None:
        await wait()
        came.add(name)
        tasks.cancel_scope.cancel()

    async with anyio.create_task_group() as tasks:
        for name, wait in waits.items():
            tasks.start_soon(wait_one, name, wait)
    return next(name for name in waits if name in came)


class Wake:
    """A bell: ringing wakes everybody who waits now, and is remembered for the next who comes."""

    def __init__(self) -> None:
        self._event = anyio.Event()

    def ring(self) -> None:
        """Wake the waiting, or let the next wait return at once."""
        self._event.set()

    async def wait(self, bound_s: float) -> None:
        """Wait for the bell, at most so many seconds; afterwards it is silent again."""
        with anyio.move_on_after(max(bound_s, 0.0)):
            await self._event.wait()
        self._event = anyio.Event()
