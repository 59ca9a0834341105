"""The parent as a service: the address, the probes for all, and the signals.

reserve → probe listener → [ processes ] → ready when all are → … → stop → all ended → worst exit code
"""

from __future__ import annotations

import signal
from collections.abc import AsyncIterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import structlog
import trio

from tenure_http import Router
from tenure_http import serve as serve_http
from tenure_process.address import Address, Bound, bind
from tenure_process.exit import ExitCode
from tenure_process.family.family import Family, Plan
from tenure_process.family.probe import family_routes, reload_all
from tenure_process.family.reservation import reserve

log = structlog.get_logger("tenure.process")


@dataclass(frozen=True)
class Serving:
    """A family that serves: where it can be reached."""

    address: Address
    probe_address: Address


async def serve_many(
    plan: Plan,
    *,
    signals: AsyncIterator[Any],
    task_status: trio.TaskStatus[Serving] = trio.TASK_STATUS_IGNORED,
) -> ExitCode:
    """Run the processes of a plan until the first signal, then stop them in order; the worst exit code.

    SIGHUP makes all of them reload. A second signal cuts. `started()` is called when all are ready for the
    first time. 78: the address or the one for probes cannot be had, or a process said so when it started;
    75: a process said so when it started. Cancelling it kills them.
    """
    try:
        with await reserve(plan.listen) as reservation:
            probes = await bind(plan.probe_listen)
            async with probes:
                family = Family(plan, reservation)
                serving = Serving(reservation.address, probes.address)
                return await _serve(family, plan, probes, serving, signals, task_status)
    except OSError as error:
        log.critical("cannot_listen", reason=str(error))
        return ExitCode.CONFIGURATION


async def _serve(
    family: Family,
    plan: Plan,
    probes: Bound,
    serving: Serving,
    signals: AsyncIterator[Any],
    task_status: trio.TaskStatus[Serving],
) -> ExitCode:
    log.info(
        "listening", address=str(serving.address), probe=str(serving.probe_address), processes=plan.count
    )
    async with trio.open_nursery() as nursery:
        routes = Router(family_routes(family, plan.prefix))
        await nursery.start(partial(serve_http, probes.listeners, routes))
        nursery.start_soon(_obey, family, signals, nursery)
        async with trio.open_nursery() as children:
            for child in family.children:
                children.start_soon(family.keep, child)
            children.start_soon(family.become_ready, partial(task_status.started, serving))
        nursery.cancel_scope.cancel()
    log.info("ended", exit_code=family.code)
    return family.code


async def _obey(family: Family, signals: AsyncIterator[Any], nursery: trio.Nursery) -> None:
    async for number in signals:
        if number == signal.SIGHUP:
            nursery.start_soon(reload_all, family)
        elif family.stop_wanted.is_set():
            log.warning("cut_short")
            family.cut_wanted.set()
        else:
            family.stop_wanted.set()
            log.info("draining")
