"""What an older process of this worker left in the journal, and what may truthfully be said about it.

Nothing here starts a command, and nothing is said that is not proven: what cannot be decided is left alone,
visibly.
"""

from __future__ import annotations

from typing import Literal

import anyio
import structlog

from tenure_worker.attempt import with_output
from tenure_worker.journal import Record, Result
from tenure_worker.journal.record import BEFORE_START, UNDER_WAY
from tenure_worker.launcher import Receipt, receipt
from tenure_worker.outcome import conclude, not_spawned
from tenure_worker.report import report
from tenure_worker.session import Session, on_disk

log = structlog.get_logger("tenure.worker")

FIRST_LOOK_S = 0.05
LOOK_S = 1.0

Undecided = Literal["survives", "undecidable"]


def is_unspent(record: Record) -> bool:
    """Whether nothing can have been started: the offer is simply asked again, and what it brings is new."""
    return record.state in BEFORE_START


def occupies_slot(record: Record) -> bool:
    """Whether a command of this record may still run, as far as the journal alone can tell."""
    return record.state in UNDER_WAY


def decide(*, held: bool, seen: Receipt | None, same_machine: bool) -> Result | Undecided:
    """What a record under way has come to. Pure.

    `held`: whether the receipt's lock was taken, looked at **before** `seen` was read, so that an end
    written between the two looks is not missed. The lock is held by the launcher for its whole life and by
    the starter until it has noted the start; so on this machine a free lock and no start on the receipt
    prove that the command was not and will not be executed.
    """
    if seen is not None and (seen.exit_code is not None or seen.failure is not None):
        return conclude(seen, "ended", None)
    if held:
        return "survives"
    if seen is not None and seen.started is None and same_machine:
        return not_spawned("not_spawned", "The agent ended before the command was started.")
    return "undecidable"


async def settle(session: Session, record: Record) -> None:
    """Bring one record of an older process to its end, as far as the truth allows."""
    try:
        await _settle(session, record)
    except (OSError, ValueError) as error:  # a sick disk, or a receipt that nobody of ours wrote
        log.warning("attempt_unreadable", **_facts(record), reason=str(error))


async def _settle(session: Session, record: Record) -> None:
    if record.state == "reported":
        await on_disk(lambda: session.journal.remove(record.offer))
    elif record.state == "finished":
        await _report(session, record)
    elif occupies_slot(record):
        await _settle_under_way(session, record)
    else:
        result = not_spawned("not_spawned", "The agent ended before the command was started.")
        await _finish(session, record, result)


async def _settle_under_way(session: Session, record: Record) -> None:
    try:
        verdict = await on_disk(lambda: look(session, record))
        if verdict == "survives":
            verdict = await _wait_survivor(session, record)
    finally:
        session.board.release_survivor()
    if isinstance(verdict, Result):
        await _finish(session, record, verdict)
    else:
        log.warning("attempt_undecidable", **_facts(record))


async def _wait_survivor(session: Session, record: Record) -> Result | Undecided:
    """A surviving launcher keeps its slot until it has written how its command ended."""
    log.warning("attempt_survives", **_facts(record))
    pause_s = FIRST_LOOK_S
    while True:
        await anyio.sleep(pause_s)
        verdict: Result | Undecided = await on_disk(lambda: look(session, record))
        if verdict != "survives":
            return verdict
        pause_s = min(2 * pause_s, LOOK_S)


def look(session: Session, record: Record) -> Result | Undecided:
    """Look at the lock, then at the receipt, and decide. Blocking."""
    path = session.journal.attempt_folder(record.offer) / "receipt"
    machine = record.launcher.machine if record.launcher else None
    return decide(
        held=path.exists() and receipt.is_held(path),
        seen=receipt.read(path),
        same_machine=machine is not None and machine == session.journal.machine,
    )


async def _finish(session: Session, record: Record, result: Result) -> None:
    complete = await on_disk(lambda: with_output(session, record, result))
    finished = record.advance("finished", result=complete)
    await on_disk(lambda: session.journal.write(finished))
    await _report(session, finished)


async def _report(session: Session, record: Record) -> None:
    with session.board.working():
        await report(session, record, is_own=False)


def _facts(record: Record) -> dict[str, str]:
    attempt = str(record.lease.attempt) if record.lease else ""
    return {"offer": str(record.offer), "attempt": attempt, "state": record.state}
