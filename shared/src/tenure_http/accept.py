"""Accepting connections, to an end that resets nobody.

A listener that is closed resets whoever stands in its queue: connected, perhaps with a request sent, and not
accepted yet. So the queue is emptied first.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final, TypeAlias

import trio

Welcome: TypeAlias = Callable[[Any], Awaitable[object]]

_QUIET_S: Final = 0.02
"""Nobody came for so long: the queue is empty."""

_LAST_CALL_S: Final = 1.0
"""However many keep coming. Who comes later is refused by the system, and knows that nothing was read."""


async def keep_accepting(
    listeners: Sequence[trio.abc.Listener[Any]],
    welcome: Welcome,
    nursery: trio.Nursery,
    scope: trio.CancelScope,
    *,
    task_status: trio.TaskStatus[Any],
) -> None:
    """Starts `welcome` in `nursery` for each connection, until `scope` is cancelled and the queues are empty.

    Closes the listeners however it ends, and each connection after its `welcome`.

    Raises:
        OSError: a listener failed for another reason than a shortage, which is waited out.
    """
    try:
        with scope:
            lent = [_Lent(listener) for listener in listeners]
            await trio.serve_listeners(welcome, lent, handler_nursery=nursery, task_status=task_status)
        for listener in listeners:
            await _empty(listener, welcome, nursery)
    finally:
        for listener in listeners:
            await trio.aclose_forcefully(listener)


class _Lent(trio.abc.Listener[Any]):
    """A listener that stays open when its borrower closes it."""

    def __init__(self, listener: trio.abc.Listener[Any]) -> None:
        self._listener = listener

    async def accept(self) -> Any:
        return await self._listener.accept()

    async def aclose(self) -> None:
        await trio.lowlevel.checkpoint()


async def _empty(listener: trio.abc.Listener[Any], welcome: Welcome, nursery: trio.Nursery) -> None:
    with trio.move_on_after(_LAST_CALL_S):
        while (stream := await _next(listener)) is not None:
            nursery.start_soon(_attend, stream, welcome)


async def _next(listener: trio.abc.Listener[Any]) -> Any:
    with trio.move_on_after(_QUIET_S):
        try:
            return await listener.accept()
        except OSError:
            pass  # A shortage, now that we go: the rest is reset, and there is nobody to tell.
    return None


async def _attend(stream: trio.abc.AsyncResource, welcome: Welcome) -> None:
    try:
        await welcome(stream)
    finally:
        await trio.aclose_forcefully(stream)
