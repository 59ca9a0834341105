"""The border itself: an asyncio coroutine, watched from trio.

One call across the border costs one asyncio task and one trio event. The wait never fails and never ends the
task; whoever stops waiting says explicitly that the task is abandoned. That is the difference from
`run_aio_coroutine`, whose cancellation sends asyncpg into its own clean-up and returns when that is over.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any, Generic, TypeVar

import trio

T = TypeVar("T")

log = logging.getLogger(__name__)


class Crossing(Generic[T]):
    """One asyncio task and the trio event of its end."""

    def __init__(self, loop: asyncio.AbstractEventLoop, coroutine: Coroutine[Any, Any, T]) -> None:
        self._finished = trio.Event()
        self._task = loop.create_task(coroutine)
        self._task.add_done_callback(self._on_done)

    def _on_done(self, _: asyncio.Task[T]) -> None:
        self._finished.set()

    @property
    def finished(self) -> bool:
        """Whether the task has ended."""
        return self._finished.is_set()

    async def wait(self) -> None:
        """Wait for the end of the task. Cancelling the wait leaves the task as it is."""
        await self._finished.wait()

    async def wait_until(self, deadline: float, dispose: Callable[[T], None]) -> bool:
        """Wait for the end of the task, at most until `deadline` (trio time); whether it ended.

        Otherwise, and when the wait is cancelled, the task is abandoned. `dispose` gets what it returned and
        nobody can take any more: also when it ended in the very moment of the cancellation.
        """
        try:
            with trio.move_on_at(deadline):
                await self.wait()
        except trio.Cancelled:
            self.abandon(dispose)
            raise
        if not self.finished:
            self.abandon(dispose)
        return self.finished

    @property
    def error(self) -> BaseException | None:
        """What the ended task raised. An asyncio cancellation means that the loop is being closed."""
        return asyncio.CancelledError() if self._task.cancelled() else self._task.exception()

    def result(self) -> T:
        """What the ended task returned."""
        return self._task.result()

    def abandon(self, dispose: Callable[[T], None]) -> None:
        """Cancel the task and return at once. If it returns something all the same, `dispose` gets it."""

        def end(task: asyncio.Task[T]) -> None:
            if not task.cancelled() and task.exception() is None:
                dispose(task.result())

        self._task.add_done_callback(end)
        self._task.cancel()


def log_stray_errors(loop: asyncio.AbstractEventLoop) -> None:
    """Log an error that no crossing waits for. The loop's own answer would be to end the whole process."""

    def handle(_: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        log.error("stray error: %s", context.get("message"), exc_info=context.get("exception"))

    loop.set_exception_handler(handle)
