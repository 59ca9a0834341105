"""The composition root: what a control process is, from its first line in the log to its exit code.

    settings → signals → operator listener → [ pools → readiness → startup recovery → lifecycles
    → scheduler cadence → cancellation cadence → admission ]

The part in brackets is one incarnation (see `life`). A lost database ends it, and the next one begins at its
first step; the process, its listener and its liveness go on. Everything stops in the reverse order.
"""

from __future__ import annotations

import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, Final, Literal

import structlog
import trio

from tenure_control.incarnation import Incarnation
from tenure_control.life import End, Patience, background, live, step
from tenure_control.process import Process
from tenure_control.settings import Settings
from tenure_control.usable import may_pass
from tenure_http import Router, Service
from tenure_http import serve as serve_http
from tenure_http.probe import gated, probe_routes
from tenure_http.tls import TlsError
from tenure_process.address import Bound, bind
from tenure_process.exit import ExitCode
from tenure_process.reload import Reload
from tenure_process.usable import Unusable, pauses

log = structlog.get_logger("tenure.control")

LISTENER_BUDGET_S: Final = 1.0
"""Requests were drained long before; what is left are probes."""


async def serve(
    settings: Settings,
    *,
    signals: AsyncIterator[Any],
    task_status: trio.TaskStatus[Process] = trio.TASK_STATUS_IGNORED,
) -> ExitCode:
    """Run one control process until it is asked to stop, and return its exit code.

    The first signal stops it in order, a second one cuts; SIGHUP swaps the TLS material. `started()` gets the
    process when its listener is up, which is before the database is looked at. 75: the database never
    answered, or was lost and `exit_on_database_loss` is set; 78: it answered and is wrong, or the listener
    cannot be had, told in one sentence; 1: something had to be cut. An unexpected error comes out as it is,
    once all is unwound.
    Cancelling it cuts everything.
    """
    process = Process(settings)
    code: ExitCode | None = None
    try:
        log.info("started", step="settings")
        code = await _under_signals(process, signals, task_status)
    except BaseExceptionGroup as group:
        raise _original(group) from None
    else:
        return code
    finally:
        process.end(code)
        log.info("ended", exit_code=code)


async def _under_signals(
    process: Process, signals: AsyncIterator[Any], task_status: trio.TaskStatus[Process]
) -> ExitCode:
    code = ExitCode.FAILED
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_receive, signals, process, nursery)
        with step("signals"):
            code = await _listen(process, task_status)
        nursery.cancel_scope.cancel()
    return code


async def _receive(signals: AsyncIterator[Any], process: Process, nursery: trio.Nursery) -> None:
    """The first signal stops, the second one cuts, whoever else has asked for a stop. SIGHUP does neither."""
    first = True
    async for number in signals:
        if number == signal.SIGHUP:
            nursery.start_soon(process.reload.by_signal)
            continue
        log.info("signal", signal=str(number), first=first)
        if not first:
            nursery.cancel_scope.cancel()
            return
        first = False
        process.ask_stop()


async def _listen(process: Process, task_status: trio.TaskStatus[Process]) -> ExitCode:
    settings = process.settings
    try:
        bound = await bind(settings.listen, settings.tls)
    except (TlsError, OSError) as error:
        log.critical("cannot_listen", address=str(settings.listen), reason=str(error))
        return ExitCode.CONFIGURATION
    process.address = bound.address
    process.reload = Reload(bound.switch, settings.tls)
    log.info("listening", address=str(bound.address), tls=settings.tls is not None)
    async with bound, _served(process, bound) as service:
        task_status.started(process)
        return await _incarnations(process, service)


@asynccontextmanager
async def _served(process: Process, bound: Bound) -> AsyncIterator[Service]:
    """The operator listener: alive from here on; only probes are let in until an incarnation serves."""
    probes = Router(probe_routes(process.readiness, process.metrics.render))
    admit = gated(process.readiness, probes, process.door)
    serving = partial(serve_http, bound.listeners, admit, observer=process.metrics)
    async with background() as nursery:
        with step("listener"):
            service: Service = await nursery.start(serving)
            process.reload.retire = service.retire_connections
            yield service
            await service.stop(LISTENER_BUDGET_S)


async def _incarnations(process: Process, service: Service) -> ExitCode:
    """One incarnation after the other, until the process stops or cannot go on."""
    deadline = trio.current_time() + process.settings.start_budget_s
    resting = pauses()
    while not process.stop_wanted.is_set():
        end = await _one(process, service, deadline)
        if isinstance(end, ExitCode):
            return end
        if end != "stopped" and process.settings.exit_on_database_loss and process.was_ready:
            return ExitCode.TEMPORARY
        with process.interruptible():
            await trio.sleep(next(resting))
        if end == "lost":
            resting = pauses()
    return ExitCode.DONE if process.clean else ExitCode.FAILED


async def _one(process: Process, service: Service, deadline: float) -> End | Literal["failed"] | ExitCode:
    """One incarnation. `failed`: it could not begin, which may pass."""
    incarnation = Incarnation.begin(process.settings.replica)
    process.metrics.incarnation_began()
    log.info("incarnation", replica=incarnation.replica, incarnation=incarnation.id)
    try:
        return await live(process, incarnation, service, Patience(deadline, endless=process.was_ready))
    except Unusable as unusable:
        log.critical("database_unusable", reason=str(unusable))
        return ExitCode.TEMPORARY if unusable.temporary else ExitCode.CONFIGURATION
    except Exception as error:
        if not may_pass(error):
            raise
        log.warning("incarnation_failed", reason=str(error))
        give_up = not process.was_ready and trio.current_time() > deadline
        return ExitCode.TEMPORARY if give_up else "failed"


def _original(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """The one error inside of nested groups; several are told together."""
    (first, *more) = group.exceptions
    if more:
        return group
    return _original(first) if isinstance(first, BaseExceptionGroup) else first
