"""The composition root: what starts first is outermost and stops last.

settings → TLS → bind → answer everything with 503 `starting` → database, exactly → ready
"""

from __future__ import annotations

import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import structlog
import trio

from tenure_contracts.channel import CONTROL, DISPATCH
from tenure_http import Service as HttpService
from tenure_http import serve as serve_http
from tenure_http.probe import Readiness, probe_routes
from tenure_http.route import Router
from tenure_http.tls import TlsError
from tenure_ingress.budget import FailureBudget
from tenure_ingress.credential import Guard
from tenure_ingress.database import find_faults, watch
from tenure_ingress.lanes import Lanes, open_lanes
from tenure_ingress.metrics import Metrics
from tenure_ingress.operation import audit, offer
from tenure_ingress.operation.service import Service
from tenure_ingress.refusal import Refusals
from tenure_ingress.route import admission
from tenure_ingress.settings import Settings
from tenure_ingress.waiting import Room, keep_looking
from tenure_postgres.listen import Notifier, listen
from tenure_process.address import Address, Bound, adopt, bind
from tenure_process.exit import ExitCode
from tenure_process.family.handed import Handed
from tenure_process.reload import Reload, reload_route
from tenure_process.usable import Unusable, wait_usable

log = structlog.get_logger("tenure.ingress")


@dataclass(frozen=True)
class Running:
    """A process that serves: where it can be reached."""

    address: Address
    probe_address: Address


async def serve(
    settings: Settings,
    *,
    signals: AsyncIterator[Any],
    handed: Handed | None = None,
    task_status: trio.TaskStatus[Running] = trio.TASK_STATUS_IGNORED,
) -> ExitCode:
    """Run one ingress until the first signal, then stop in order; returns the exit code.

    SIGHUP is none of these: it swaps the TLS material. With `handed` it serves on a parent's sockets.

    `started()` is called when it is ready. A second signal cuts the stop short. 75: the database never
    answered; 78: settings, TLS material or database are wrong, logged in one sentence; 1: requests were cut.
    Cancelling it cuts everything.
    """
    try:
        bound = await _bind(settings, handed)
    except (TlsError, OSError) as error:
        log.critical("cannot_listen", reason=str(error))
        return ExitCode.CONFIGURATION
    async with _outer(settings, *bound) as outer:
        return await _run(settings, outer, signals, task_status)


async def _bind(settings: Settings, handed: Handed | None) -> tuple[Bound, Bound]:
    """Both listeners, for workers and for probes, or none."""
    if handed is not None:
        return adopt(handed.listen, settings.tls), adopt([handed.probe])
    workers = await bind(settings.listen, settings.tls)
    try:
        return workers, await bind(settings.probe_listen)
    except BaseException:
        await workers.aclose()
        raise


@dataclass(frozen=True)
class _Outer:
    """What exists before the database does: sockets, probes, metrics."""

    workers: Bound
    probes: Bound
    readiness: Readiness
    metrics: Metrics
    reload: Reload


@asynccontextmanager
async def _outer(settings: Settings, workers: Bound, probes: Bound) -> AsyncIterator[_Outer]:
    """Answer probes for the block: alive from here on, ready later. Closes both listeners."""
    reload = Reload(workers.switch, settings.tls)
    outer = _Outer(workers, probes, Readiness(), Metrics(access=settings.debug), reload)
    async with workers, probes, trio.open_nursery() as nursery:
        log.info(
            "listening", address=str(workers.address), probe=str(probes.address), tls=settings.tls is not None
        )
        routes = Router((*probe_routes(outer.readiness, outer.metrics.render), reload_route(reload)))
        await nursery.start(partial(serve_http, probes.listeners, routes))
        yield outer
        nursery.cancel_scope.cancel()
    log.info("listener_closed")


async def _run(
    settings: Settings, outer: _Outer, signals: AsyncIterator[Any], task_status: trio.TaskStatus[Running]
) -> ExitCode:
    """Everything between "alive" and the exit code. Signals that come before it is ready end it as well."""
    code = ExitCode.DONE
    async with trio.open_nursery() as nursery:

        async def until_stopped() -> None:
            nonlocal code
            code = await _with_database(settings, outer, stop, task_status)
            nursery.cancel_scope.cancel()

        stop = trio.Event()
        nursery.start_soon(until_stopped)
        async for number in signals:
            if number == signal.SIGHUP:
                nursery.start_soon(outer.reload.by_signal)
            elif stop.is_set() or outer.readiness.status == "starting":
                log.warning("cut_short")
                code = ExitCode.FAILED if stop.is_set() else ExitCode.DONE
                nursery.cancel_scope.cancel()
                break
            else:
                stop.set()
    return code


async def _with_database(
    settings: Settings, outer: _Outer, stop: trio.Event, task_status: trio.TaskStatus[Running]
) -> ExitCode:
    """Pools, lanes and the listener for workers, which answers from here on; nothing is connected yet."""
    async with open_lanes(settings) as lanes:
        async with trio.open_nursery() as background:
            service = await _start_service(settings, lanes, outer.metrics, background)
            refusals = Refusals()
            background.start_soon(audit.audit, refusals, lanes.database)
            http = await background.start(_serve_workers, outer, service, refusals)
            outer.reload.retire = http.retire_connections
            code = await _serve_until(stop, outer, service, http, task_status)
            await audit.flush(refusals, lanes.database)
            background.cancel_scope.cancel()
        log.info("lanes_flushed")
    log.info("pool_closed")
    return code


async def _start_service(
    settings: Settings, lanes: Lanes, metrics: Metrics, background: trio.Nursery
) -> Service:
    """The service, and in `background` what it relies on: lanes, notifications, the waiting room."""
    for lane in lanes.all:
        metrics.observe_lane(lane)
        await background.start(lane.run)
    notifier = Notifier(lanes.notify)
    await background.start(notifier.run)
    room = Room()
    metrics.observe_room(room)
    service = Service(
        settings, lanes, room, partial(notifier.notify, DISPATCH), partial(notifier.notify, CONTROL)
    )
    await background.start(_listen, settings, room)
    background.start_soon(keep_looking, room, partial(offer.look, service))
    return service


async def _serve_workers(
    outer: _Outer, service: Service, refusals: Refusals, *, task_status: trio.TaskStatus[HttpService]
) -> None:
    """Answer on the listener for workers, until it was stopped or this is cancelled."""
    settings = service.settings
    budget = FailureBudget(per_peer=settings.failures_per_peer, in_all=settings.failures)
    admit = admission(service, outer.readiness, Guard(budget, refusals))
    await serve_http(
        outer.workers.listeners,
        admit,
        limits=settings.limits,
        observer=outer.metrics,
        task_status=task_status,
    )


async def _listen(
    settings: Settings, room: Room, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED
) -> None:
    """Tell the room what others tell. Past any pooler, which loses it."""

    def on_notify(channel: str, payload: str) -> None:
        room.tell(payload)

    url = settings.direct_url or settings.database_url
    await listen(url, [DISPATCH], on_notify, name="tenure ingress listen", task_status=task_status)


async def _serve_until(
    stop: trio.Event,
    outer: _Outer,
    service: Service,
    http: HttpService,
    task_status: trio.TaskStatus[Running],
) -> ExitCode:
    """Become ready, serve until `stop`, drain. The exit code."""
    database = service.lanes.database
    deadline = trio.current_time() + service.settings.start_budget_s
    try:
        await wait_usable(
            partial(find_faults, database), deadline, partial(outer.readiness.become, "starting")
        )
    except Unusable as unusable:
        log.critical("database_unusable", reason=str(unusable))
        return ExitCode.TEMPORARY if unusable.temporary else ExitCode.CONFIGURATION
    async with trio.open_nursery() as nursery:
        nursery.start_soon(watch, database, outer.readiness)
        outer.readiness.become("ready")
        log.info("ready", address=str(outer.workers.address))
        task_status.started(Running(outer.workers.address, outer.probes.address))
        await stop.wait()
        nursery.cancel_scope.cancel()
    return await _drain(outer, service, http)


async def _drain(outer: _Outer, service: Service, http: HttpService) -> ExitCode:
    """Take nothing more, end all waits, and let what is on its way end within the budget."""
    outer.readiness.become("draining", "asked to stop")
    log.info("draining", in_flight=http.in_flight, waiting=http.waiting)
    service.room.close()
    drained = await http.stop(service.settings.drain_budget_s)
    log.info("drained", left=dict(drained.left))
    return ExitCode.DONE if drained.complete else ExitCode.FAILED
