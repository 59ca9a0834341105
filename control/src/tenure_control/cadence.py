"""The timer: one bounded cycle at a time.

    resting --(interval over, wake, run_once)--> cycling --(cycle ended)--> resting

The interval counts from the end of the cycle before, so a slow cycle is followed by a rest and never by
another one that catches up. `wake` ends a rest. During a cycle it sets a flag, because the cycle may have
looked already at what the caller changed: the next one then follows at once.

`run_once` is coalesced. Whoever asks while a cycle runs gets the outcome of that cycle; who asks during a
rest ends it. The cycle belongs to the cadence, so cancelling a caller ends that caller's wait and nothing
else.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import Final, Generic, TypeVar

import trio

T = TypeVar("T")

INTERVAL_S: Final = 1.0

_log = logging.getLogger(__name__)


class CadenceStoppedError(Exception):
    """The cadence stopped before the cycle that was asked for began."""


class Cadence(Generic[T]):
    """Drives `cycle` every `interval_s` seconds, from `run` until `drain`.

    An exception of a cycle reaches those who asked for it, and `on_failure`; the timer goes on.
    `again(outcome)` tells whether the next cycle is to follow at once.
    """

    def __init__(
        self,
        name: str,
        cycle: Callable[[], Awaitable[T]],
        *,
        interval_s: float = INTERVAL_S,
        again: Callable[[T], bool] = lambda _: False,
        on_failure: Callable[[Exception], None] = lambda _: None,
    ) -> None:
        self.name = name
        self._cycle = cycle
        self._interval_s = interval_s
        self._again = again
        self._on_failure = on_failure
        self._wanted = trio.Event()
        self._flight: _Flight[T] = _Flight()
        self._stopping = False
        self._ended = trio.Event()
        self._scope = trio.CancelScope()

    @property
    def cycling(self) -> bool:
        """Whether a cycle runs now."""
        return self._flight.began

    def wake(self) -> None:
        """Make the next cycle earlier; never concurrent with the one that runs."""
        self._wanted.set()

    async def run_once(self) -> T:
        """The outcome of the cycle that runs, or of the next one, which begins at once.

        Raises what the cycle raised, or CadenceStoppedError when no cycle comes any more.
        """
        flight = self._flight
        if not flight.began:
            self.wake()
        return await flight.land()

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """The life of the cadence: the first cycle at once, the last one before `drain` returns."""
        try:
            with self._scope:
                task_status.started()
                while not self._stopping:
                    await self._fly()
                    await self._rest()
        finally:
            self._stopping = True
            self._flight.crash(CadenceStoppedError(f"the {self.name} cadence has stopped"))
            self._ended.set()

    async def drain(self, budget_s: float) -> bool:
        """Begin no further cycle, and wait for the one that runs, at most so long; then cut it.

        A cut cancels waiting; a commit that is on its way is still awaited by the border of the database.
        Returns whether the cycle ended by itself. Concurrent drains wait for the same end.
        """
        self._stopping = True
        self._wanted.set()
        with trio.move_on_after(budget_s):
            await self._ended.wait()
            return not self._scope.cancelled_caught
        self._scope.cancel()
        await self._ended.wait()
        return not self._scope.cancelled_caught

    async def _fly(self) -> None:
        # Armed before the cycle looks at anything: a wake-up from now on is for the cycle after this one.
        self._wanted = trio.Event()
        flight = self._flight
        flight.began = True
        try:
            outcome = await self._cycle()
        except Exception as error:  # noqa: BLE001 - a failed cycle never stops the timer
            self._flight = _Flight()
            flight.crash(error)
            self._report(error)
            return
        self._flight = _Flight()
        flight.arrive(outcome)
        if self._again(outcome):
            self.wake()

    def _report(self, error: Exception) -> None:
        _log.debug("a cycle of the %s cadence failed", self.name, exc_info=error)
        self._on_failure(error)

    async def _rest(self) -> None:
        # Also a wait that is over at once gives way to others: cycles that never wait cannot starve them.
        with trio.move_on_after(self._interval_s):
            await self._wanted.wait()


class _Flight(Generic[T]):
    """One cycle, from the first who waits for it until it has an outcome."""

    def __init__(self) -> None:
        self.began = False
        self._landed = trio.Event()
        self._outcome: list[T] = []
        self._error: Exception | None = None

    def arrive(self, outcome: T) -> None:
        self._outcome.append(outcome)
        self._landed.set()

    def crash(self, error: Exception) -> None:
        self._error = error
        self._landed.set()

    async def land(self) -> T:
        await self._landed.wait()
        if self._error is not None:
            raise self._error
        return self._outcome[0]
