"""From `go` to the last process: watch one command, end it when it has to end, and conclude."""

from __future__ import annotations

from functools import partial
from typing import Protocol

import anyio
import structlog

from tenure_contracts.wire.offer import Offered
from tenure_worker.board import Held
from tenure_worker.journal import Record, Result
from tenure_worker.launcher import Launcher, Started
from tenure_worker.machine import boot_clock, session_members
from tenure_worker.outcome import Cause, conclude
from tenure_worker.output import trim
from tenure_worker.session import Session, on_disk
from tenure_worker.stop import stop_session, wait_empty
from tenure_worker.wait import wait_first

log = structlog.get_logger("tenure.worker")

TRIM_S = 0.25
CONTACT_LOOK_S = 1.0

_CAUSES: dict[str, Cause] = {
    "ended": "ended",
    "deadline": "deadline",
    "lost_contact": "lost_contact",
    "stopping": "worker_stopping",
}


class Execution(Protocol):
    """What is watched: the attempt, seen from here."""

    session: Session
    held: Held
    record: Record
    offered: Offered

    async def note_running(self, started: Started) -> None:
        """Journal the start."""

    async def acknowledge(self, started: Started) -> None:
        """Tell the ingress about the start."""


async def execute(execution: Execution, launcher: Launcher, deadline: float | None) -> Result:
    """Watch a launched command until nothing of it is left. `deadline` is on the event loop's clock.

    Cancelled: the command goes on.
    """
    receipt = await launcher.wait_started()
    if receipt.started is None or receipt.failure is not None:
        await launcher.wait_ended()
        return conclude(launcher.read_receipt(), "ended", execution.held.stop)
    await execution.note_running(receipt.started)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(execution.acknowledge, receipt.started)
        tasks.start_soon(_trim_forever, execution)
        cause = await _wait_cause(execution, launcher, receipt.started.session, deadline)
        await _end_session(execution, launcher, receipt.started.session, cause)
        tasks.cancel_scope.cancel()
    return conclude(launcher.read_receipt(), cause, execution.held.stop)


async def _wait_cause(
    execution: Execution, launcher: Launcher, session: int, deadline: float | None
) -> Cause:
    async def ended() -> None:
        if (await launcher.wait_ended()).exit_code is None:
            await wait_empty(session)  # somebody killed the launcher alone: its command may go on

    held, ending = execution.held, execution.session.ending
    cause = await wait_first(
        ended=ended,
        interrupted=held.interrupted.wait,
        deadline=lambda: anyio.sleep_until(float("inf") if deadline is None else deadline),
        lost_contact=lambda: _wait_lost_contact(held, execution.offered.plan.stop_on_lost_contact_s),
        stopping=ending.stopping.wait,
    )
    if launcher.read_receipt().exit_code is not None:
        return "ended"
    return _CAUSES.get(cause) or held.interruption or "stop"


async def _wait_lost_contact(held: Held, limit_s: float | None) -> None:
    """Return once the lease was not renewed for so long. No sleep counts suspend, so this looks again."""
    if limit_s is None:
        await anyio.sleep_forever()
    # An event would not do: what is waited for is a clock that goes on while every sleep stands still.
    while (left_s := held.contact_at + (limit_s or 0.0) - boot_clock()) > 0:  # noqa: ASYNC110
        await anyio.sleep(min(left_s, CONTACT_LOOK_S))


async def _end_session(execution: Execution, launcher: Launcher, session: int, cause: Cause) -> None:
    """Leave nothing behind: a command that is over must not go on under another attempt's feet."""
    if cause != "ended":
        log.info("attempt_stopping", attempt=_attempt(execution), cause=cause)
    elif survivors := session_members(session):
        log.warning("attempt_left_processes", attempt=_attempt(execution), processes=len(survivors))
    else:
        return
    await stop_session(session, execution.held.grace_s)
    await launcher.wait_ended()


async def _trim_forever(execution: Execution) -> None:
    folder = execution.session.journal.attempt_folder(execution.record.offer)
    while True:
        await anyio.sleep(TRIM_S)
        await on_disk(partial(trim, folder / "stdout"))
        await on_disk(partial(trim, folder / "stderr"))


def _attempt(execution: Execution) -> str:
    return str(execution.held.lease.attempt)
