"""A control in this process: the real composition root on a free loopback port, over a test's database.

    async with open_control(database) as control:
        summary = await control.cycle()                  # one cycle of the scheduler cadence, now
        assert (await control.get("/readyz")).json()["status"] == "ready"

Several may run beside each other, on one database or on several; each is stopped in order at the end of its
block, and what it logged is in `control.log`. Its own timer rests for an hour, so that a test decides when a
cycle happens; `open_control(database, interval_s=0.05)` lets the timer run.

`stage_parts(database)` opens what the stages need without a process around them: the way to test one stage.
"""

from __future__ import annotations

import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

import httpx
import structlog
import trio

from tenure_control.app import serve
from tenure_control.cycle import CycleSummary
from tenure_control.evidence.registry import Registry
from tenure_control.incarnation import Incarnation
from tenure_control.process import Process
from tenure_control.settings import Settings
from tenure_control.stage.recovery import Recovery
from tenure_control.stage.schedule import Schedule
from tenure_postgres.database import Database
from tenure_process.address import Address
from tenure_process.exit import ExitCode
from tests.harness.database import ScratchDatabase

ANYWHERE: Final = Address("127.0.0.1", 0)
NEVER_S: Final = 3600.0
STOP_S: Final = 15.0


@dataclass
class RunningControl:
    """A control process. `log` has the events that this process logged while it ran, in their order."""

    process: Process
    log: list[Any] = field(default_factory=list)
    exit_code: ExitCode | None = None
    _signals: trio.MemorySendChannel[int] = field(repr=False, kw_only=True)

    @property
    def url(self) -> str:
        """Where its operator listener is."""
        return f"http://{self.process.address}"

    def steps(self, event: str) -> list[str]:
        """The steps that `started` or `stopped`, in order."""
        return [entry["step"] for entry in self.log if entry["event"] == event]

    async def cycle(self) -> CycleSummary:
        """One whole cycle of the scheduler cadence that begins now, after the one that may be running."""
        scheduler = self.process.scheduler
        assert scheduler is not None, "it is not ready"
        if scheduler.cycling:
            await scheduler.run_once()
        return await scheduler.run_once()

    def signal(self, number: int = signal.SIGTERM) -> None:
        """What this signal is to the process."""
        self._signals.send_nowait(number)

    async def stop(self) -> ExitCode:
        """Ask it to stop; the exit code."""
        with trio.fail_after(STOP_S):
            return await self.process.stop()

    async def get(self, path: str) -> httpx.Response:
        """GET a path of its listener, without a token."""
        async with httpx.AsyncClient(trust_env=False, base_url=self.url) as client:
            return await client.get(path)

    async def wait_status(self, status: str, within_s: float = 10) -> None:
        """Wait until /readyz would say this; fails the test when it does not in time."""
        with trio.fail_after(within_s):
            while self.process.readiness.status != status:  # noqa: ASYNC110 - the process has no event for it
                await trio.sleep(0.005)


def control_settings(database: ScratchDatabase, **changes: Any) -> Settings:
    """Settings for a test: a free loopback port, the test's database, and timers that never fire."""
    defaults: dict[str, Any] = {
        "database_url": database.dsn("tenure_control"),
        "operator_database_url": database.dsn("tenure_operator"),
        "listen": ANYWHERE,
        "interval_s": NEVER_S,
        "cancellation_interval_s": NEVER_S,
        "drain_budget_s": 5.0,
    }
    return Settings(**{**defaults, **changes})


@asynccontextmanager
async def open_control(
    database: ScratchDatabase, *, ready: bool = True, **settings: Any
) -> AsyncIterator[RunningControl]:
    """Have a control process for the block; keywords are settings. It is stopped at the end.

    `ready=False` does not wait until it is ready: for databases that it cannot become ready on.
    """
    signals, receive = trio.open_memory_channel[int](4)
    with structlog.testing.capture_logs() as log:
        async with trio.open_nursery() as nursery:
            run = partial(serve, control_settings(database, **settings), signals=receive)
            process: Process = await nursery.start(run)
            control = RunningControl(process, log, _signals=signals)
            try:
                if ready:
                    await control.wait_status("ready")
                yield control
            except BaseException:
                nursery.cancel_scope.cancel()
                raise
            control.exit_code = await control.stop()


async def exit_of(settings: Settings) -> tuple[ExitCode, list[Any]]:
    """Serve with settings that cannot work: the exit code and what was logged."""
    _, receive = trio.open_memory_channel[int](1)
    with structlog.testing.capture_logs() as log, trio.fail_after(STOP_S):
        return await serve(settings, signals=receive), log


@dataclass
class StageParts:
    """What stages are made of, for one replica. `dispatched` counts what became dispatchable."""

    database: Database
    incarnation: Incarnation
    dispatched: int = 0

    def dispatch(self) -> None:
        """Counts."""
        self.dispatched += 1

    @property
    def recovery(self) -> Recovery:
        """For the recovery stage, without evidence providers."""
        return Recovery(self.database, self.incarnation, Registry(), self.dispatch)

    @property
    def schedule(self) -> Schedule:
        """For the schedule stage."""
        return Schedule(self.database, self.incarnation, self.dispatch)


@asynccontextmanager
async def stage_parts(database: ScratchDatabase, replica: str = "one") -> AsyncIterator[StageParts]:
    """Have the parts of one replica for the block, opened as tenure_control."""
    async with database.open("tenure_control", size=4) as opened:
        yield StageParts(opened, Incarnation.begin(replica))
