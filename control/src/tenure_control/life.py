"""The life of one incarnation: bootstrap from readiness on, work, and the stop in the reverse order.

What starts first is outermost, so the stop order is the indentation of `live`, read from the inside out. Each
step says in the log that it started, and later that it stopped.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Final, Literal

import structlog
import trio

from tenure_contracts.channel import CONTROL, DISPATCH
from tenure_control.cadence import Cadence
from tenure_control.cycle import CycleSummary
from tenure_control.evidence.registry import Registry
from tenure_control.incarnation import Incarnation
from tenure_control.operator import Surface, operator_routes
from tenure_control.process import Process
from tenure_control.stage import startup
from tenure_control.stage.recovery import Recovery
from tenure_control.stage.walk import Bounds
from tenure_control.usable import find_faults
from tenure_control.work import Loss, Parts, Work, wire
from tenure_http import Service
from tenure_postgres.database import Database, open_database
from tenure_postgres.listen import Notifier, listen
from tenure_process.usable import wait_usable

RUNTIME_CONNECTIONS: Final = 3
RECOVERY_CONNECTIONS: Final = 1
OPERATOR_CONNECTIONS: Final = 2

End = Literal["stopped", "lost"]

log = structlog.get_logger("tenure.control")


@dataclass(frozen=True, slots=True)
class Pools:
    """The databases of one incarnation. Recovery has a connection that nothing else can use up."""

    runtime: Database
    recovery: Database
    operator: Database
    notify: Database


@dataclass(frozen=True, slots=True)
class Patience:
    """How long to wait for a database that is not usable: until `deadline` (trio time), or for ever."""

    deadline: float
    endless: bool


async def live(process: Process, incarnation: Incarnation, service: Service, patience: Patience) -> End:
    """Bootstrap, and work until the process stops or the database is lost; then unwind.

    Raises Unusable, and whatever made a step fail; all that was started is stopped again first.
    """
    async with _pools(process) as pools:
        notifier = Notifier(pools.notify)
        parts = _parts(process, incarnation, pools, notifier)
        with process.interruptible() as bootstrap:
            await _become_usable(process, pools, patience)
            await _recover(process, parts)
        if bootstrap.cancelled_caught:
            return "stopped"
        work = wire(parts)
        async with (
            _lifecycles(process, notifier, work),
            _driven(process, work.scheduler),
            _driven(process, work.cancellation),
            _admission(process, service, work, _surface(pools, parts, work, notifier)),
        ):
            await _stop_or_loss(process, parts.loss)
    return "stopped" if process.stop_wanted.is_set() else "lost"


@asynccontextmanager
async def background() -> AsyncIterator[trio.Nursery]:
    """A nursery whose tasks end with the block. An exception of the block comes out as it is, in no group."""
    failure: Exception | None = None
    async with trio.open_nursery() as nursery:
        try:
            yield nursery
        except Exception as error:  # noqa: BLE001 - raised again below, outside of the nursery
            failure = error
        nursery.cancel_scope.cancel()
    if failure is not None:
        raise failure


@contextmanager
def step(name: str) -> Iterator[None]:
    """Say that a step started, and at the end of the block that it stopped."""
    log.info("started", step=name)
    try:
        yield
    finally:
        log.info("stopped", step=name)


@asynccontextmanager
async def _pools(process: Process) -> AsyncIterator[Pools]:
    settings = process.settings

    def pool(name: str, size: int, url: str) -> AbstractAsyncContextManager[Database]:
        return open_database(url, size=size, name=f"tenure control {name}", statements=settings.statements)

    with step("pools"):
        async with (
            pool("runtime", RUNTIME_CONNECTIONS, settings.database_url) as runtime,
            pool("recovery", RECOVERY_CONNECTIONS, settings.database_url) as recovery,
            pool("operator", OPERATOR_CONNECTIONS, settings.operator_database_url) as operator,
            pool("notify", 1, settings.database_url) as notify,
        ):
            yield Pools(runtime, recovery, operator, notify)


def _parts(process: Process, incarnation: Incarnation, pools: Pools, notifier: Notifier) -> Parts:
    settings, dispatch = process.settings, partial(notifier.notify, DISPATCH)
    recovery = Recovery(pools.recovery, incarnation, Registry(), dispatch, Bounds(settings.recovery_page))
    return Parts(settings, incarnation, pools.runtime, recovery, dispatch, process.metrics.cycles, Loss())


async def _become_usable(process: Process, pools: Pools, patience: Patience) -> None:
    def tell(reason: str) -> None:
        process.readiness.become("unavailable" if patience.endless else "starting", reason)

    find = partial(find_faults, {"tenure_control": pools.runtime, "tenure_operator": pools.operator})
    await wait_usable(find, patience.deadline, tell, patient=patience.endless)
    log.info("started", step="readiness")


async def _recover(process: Process, parts: Parts) -> None:
    decided = await startup.recover(parts.recovery, process.settings.startup_passes)
    log.info("started", step="startup_recovery", everything_decided=decided)


@asynccontextmanager
async def _lifecycles(process: Process, notifier: Notifier, work: Work) -> AsyncIterator[None]:
    """Notifications, out and in. Both only make things faster."""
    url = process.settings.direct_url or process.settings.database_url

    def on_notify(channel: str, payload: str) -> None:
        work.wake()

    async with background() as nursery:
        with step("lifecycles"):
            await nursery.start(notifier.run)
            await nursery.start(partial(listen, url, [CONTROL], on_notify, name="tenure control listen"))
            yield


@asynccontextmanager
async def _driven(process: Process, cadence: Cadence[CycleSummary]) -> AsyncIterator[None]:
    """Have a cadence for the block; at its end the cycle that runs may finish, within the drain budget."""
    failure: Exception | None = None
    async with background() as nursery:
        with step(f"{cadence.name}_cadence"):
            await nursery.start(cadence.run)
            try:
                yield
            except Exception as error:  # noqa: BLE001 - raised again below, after the drain
                failure = error
            process.note_drain(await cadence.drain(process.settings.drain_budget_s))
    if failure is not None:
        raise failure


def _surface(pools: Pools, parts: Parts, work: Work, notifier: Notifier) -> Surface:
    return Surface(
        pools.operator,
        work.wake,
        parts.dispatch,
        lambda: [summary.plain() for summary in work.cycle.summaries],
        partial(notifier.notify, DISPATCH),
    )


@asynccontextmanager
async def _admission(process: Process, service: Service, work: Work, surface: Surface) -> AsyncIterator[None]:
    """Let operators in for the block. Admission is withdrawn at once; what is in flight may finish.

    When the database is lost nothing is waited for: closing the pools answers what is in flight, and whoever
    asked is told to ask again.
    """
    process.door.open(operator_routes(surface))
    process.scheduler = work.scheduler
    with step("admission"):
        process.readiness.become("ready")
        process.was_ready = True
        try:
            yield
        finally:
            process.scheduler = None
            process.door.close()
            stopping = process.stop_wanted.is_set()
            if stopping:
                process.readiness.become("draining", "asked to stop")
            else:
                process.readiness.become("unavailable", "the database was lost")
    if stopping:
        drained = await service.drain(process.settings.drain_budget_s)
        process.note_drain(drained.complete)
        log.info("stopped", step="requests", left=dict(drained.left))


async def _stop_or_loss(process: Process, loss: Loss) -> None:
    async with trio.open_nursery() as nursery:

        async def until(event: trio.Event) -> None:
            await event.wait()
            nursery.cancel_scope.cancel()

        nursery.start_soon(until, process.stop_wanted)
        nursery.start_soon(until, loss.found)
