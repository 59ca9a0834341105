"""The process around its incarnations: what was asked of it, and what it says about itself."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import trio

from tenure_control.cadence import Cadence
from tenure_control.cycle import CycleSummary
from tenure_control.door import Door
from tenure_control.metrics import Metrics
from tenure_control.settings import Settings
from tenure_http.probe import Readiness
from tenure_process.address import Address
from tenure_process.exit import ExitCode
from tenure_process.reload import Reload


class Process:
    """One control process. `serve` makes it and hands it out when the operator listener is up.

    `stop` may be called by anybody, any number of times: all get the one exit code. `scheduler` is there
    while an incarnation lets operators in: for those who want a cycle at once.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.readiness = Readiness()
        self.door = Door()
        self.metrics = Metrics()
        self.address: Address | None = None
        self.reload = Reload(None, None)
        self.clean = True
        self.was_ready = False
        self.scheduler: Cadence[CycleSummary] | None = None
        self.stop_wanted = trio.Event()
        self._interruptible: set[trio.CancelScope] = set()
        self._exit_code: ExitCode | None = None
        self._ended = trio.Event()

    def ask_stop(self) -> None:
        """Begin to stop; what merely waits for something that may never come is interrupted."""
        self.stop_wanted.set()
        for scope in self._interruptible:
            scope.cancel()

    async def stop(self) -> ExitCode:
        """Stop in order; the exit code, once all is closed. Cancelling a caller ends its wait only."""
        self.ask_stop()
        return await self.wait_ended()

    async def wait_ended(self) -> ExitCode:
        """The exit code, once the process has ended."""
        await self._ended.wait()
        return ExitCode.FAILED if self._exit_code is None else self._exit_code

    def end(self, code: ExitCode | None) -> None:
        """The process has ended; None: it failed with an exception."""
        self._exit_code = code
        self._ended.set()

    def note_drain(self, complete: bool) -> None:
        """Remember whether something had to be cut."""
        self.clean = self.clean and complete

    @contextmanager
    def interruptible(self) -> Iterator[trio.CancelScope]:
        """A scope that a stop cancels: for waiting that is worth nothing to a process that stops."""
        with trio.CancelScope() as scope:
            if self.stop_wanted.is_set():
                scope.cancel()
            self._interruptible.add(scope)
            try:
                yield scope
            finally:
                self._interruptible.discard(scope)
