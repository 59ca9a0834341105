"""The composition root: what starts first is outermost and stops last.

settings → TLS → bind → answer everything with 503 `starting` → database, exactly → ready
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import structlog
import trio

from tenure_http import Service as HttpService
from tenure_http import serve as serve_http
from tenure_http.probe import Readiness, probe_routes
from tenure_http.route import Router
from tenure_http.tls import TlsError, TlsListener, TlsSwitch
from tenure_ingress.database import Unusable, wait_usable, watch
from tenure_ingress.lanes import open_lanes
from tenure_ingress.metrics import Metrics
from tenure_ingress.operation.service import Service
from tenure_ingress.route import admission
from tenure_ingress.settings import Address, Settings
from tenure_postgres.database import Database
from tenure_postgres.listen import Notifier

log = structlog.get_logger("tenure.ingress")

DONE: Final = 0
FAILED: Final = 1
TEMPORARY: Final = 75
CONFIGURATION: Final = 78

DISPATCH: Final = "tenure_dispatch"
CONTROL: Final = "tenure_control"


@dataclass(frozen=True)
class Running:
    """A process that serves: where it can be reached."""

    address: Address
    probe_address: Address


async def serve(
    settings: Settings,
    *,
    signals: AsyncIterator[Any],
    task_status: trio.TaskStatus[Running] = trio.TASK_STATUS_IGNORED,
) -> int:
    """Run one ingress until the first signal, then stop in order; returns the exit code.

    `started()` is called when it is ready. A second signal cuts the stop short. 75: the database never
    answered; 78: settings, TLS material or database are wrong, logged in one sentence; 1: requests were cut.
    Cancelling it cuts everything.
    """
    try:
        async with _outer(settings) as outer:
            return await _run(settings, outer, signals, task_status)
    except (TlsError, OSError) as error:
        log.critical("cannot_listen", reason=str(error))
        return CONFIGURATION


@dataclass(frozen=True)
class _Outer:
    """What exists before the database does: sockets, probes, metrics."""

    listener: trio.abc.Listener[Any]
    address: Address
    probe_address: Address
    readiness: Readiness
    metrics: Metrics


@asynccontextmanager
async def _outer(settings: Settings) -> AsyncIterator[_Outer]:
    """Bind both listeners and answer probes for the block: alive from here on, ready later."""
    tls = TlsSwitch(settings.tls) if settings.tls else None
    readiness, metrics = Readiness(), Metrics(access=settings.debug)
    async with (
        await _bind(settings.listen) as listener,
        await _bind(settings.probe_listen) as probe_listener,
        trio.open_nursery() as nursery,
    ):
        outer = _Outer(
            TlsListener(listener, tls) if tls else listener,
            _address(listener),
            _address(probe_listener),
            readiness,
            metrics,
        )
        log.info("listening", address=str(outer.address), probe=str(outer.probe_address), tls=bool(tls))
        probes = Router(probe_routes(readiness, metrics.render))
        await nursery.start(partial(serve_http, [probe_listener], probes))
        yield outer
        nursery.cancel_scope.cancel()
    log.info("listener_closed")


async def _run(
    settings: Settings, outer: _Outer, signals: AsyncIterator[Any], task_status: trio.TaskStatus[Running]
) -> int:
    """Everything between "alive" and the exit code. Signals that come before it is ready end it as well."""
    code = DONE
    async with trio.open_nursery() as nursery:

        async def until_stopped() -> None:
            nonlocal code
            code = await _with_database(settings, outer, stop, task_status)
            nursery.cancel_scope.cancel()

        stop = trio.Event()
        nursery.start_soon(until_stopped)
        async for _ in signals:
            if stop.is_set() or outer.readiness.status == "starting":
                log.warning("cut_short")
                code = FAILED if stop.is_set() else DONE
                nursery.cancel_scope.cancel()
                break
            stop.set()
    return code


async def _with_database(
    settings: Settings, outer: _Outer, stop: trio.Event, task_status: trio.TaskStatus[Running]
) -> int:
    """Pools, lanes and the listener for workers, which answers from here on; nothing is connected yet."""
    async with open_lanes(settings) as lanes:
        async with trio.open_nursery() as background:
            for lane in lanes.all:
                outer.metrics.observe_lane(lane)
                await background.start(lane.run)
            notifier = Notifier(lanes.notify)
            await background.start(notifier.run)
            service = Service(
                settings, lanes, partial(notifier.notify, DISPATCH), partial(notifier.notify, CONTROL)
            )
            admit = admission(service, outer.readiness)
            http = await background.start(
                partial(serve_http, [outer.listener], admit, observer=outer.metrics)
            )
            code = await _serve_until(stop, settings, outer, lanes.database, http, task_status)
            background.cancel_scope.cancel()
        log.info("lanes_flushed")
    log.info("pool_closed")
    return code


async def _serve_until(
    stop: trio.Event,
    settings: Settings,
    outer: _Outer,
    database: Database,
    http: HttpService,
    task_status: trio.TaskStatus[Running],
) -> int:
    """Become ready, serve until `stop`, drain. The exit code."""
    try:
        await wait_usable(database, settings.start_budget_s)
    except Unusable as unusable:
        log.critical("database_unusable", reason=str(unusable))
        return TEMPORARY if unusable.temporary else CONFIGURATION
    async with trio.open_nursery() as nursery:
        nursery.start_soon(watch, database, outer.readiness)
        outer.readiness.become("ready")
        log.info("ready", address=str(outer.address))
        task_status.started(Running(outer.address, outer.probe_address))
        await stop.wait()
        nursery.cancel_scope.cancel()
    outer.readiness.become("draining", "asked to stop")
    log.info("draining", in_flight=http.in_flight)
    drained = await http.stop(settings.drain_budget_s)
    log.info("drained", left=dict(drained.left))
    return DONE if drained.complete else FAILED


async def _bind(address: Address) -> trio.SocketListener:
    (listener,) = await trio.open_tcp_listeners(address.port, host=address.host)
    return listener


def _address(listener: trio.SocketListener) -> Address:
    host, port, *_ = listener.socket.getsockname()
    return Address(host, port)
