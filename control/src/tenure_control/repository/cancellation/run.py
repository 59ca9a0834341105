"""Units of work of convergence: run, attempt and lease end in one transaction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final
from uuid import UUID

from tenure_contracts.event import SCHEDULER
from tenure_control.decision.cancellation import CancellationDecision, CancelledRun, decide_cancellation
from tenure_control.repository.attempt.attempt import lock_run
from tenure_postgres.database import Connection, Row
from tenure_postgres.query import folder

QUERIES: Final = folder(__package__)


async def look(connection: Connection, after: UUID | None, limit: int) -> Sequence[UUID]:
    """Up to `limit` runs with a cancel intent, after one."""
    return [row["run"] for row in await connection.fetch(QUERIES["look"], after, limit)]


async def converge(connection: Connection, run: UUID) -> CancellationDecision:
    """Lock one run with its attempt and lease, read all anew, and end it if nobody can be executing it."""
    if not await lock_run(connection, run):
        return "leave"
    attempt = await connection.fetchval(QUERIES["lock_attempt"], run)
    if attempt is not None:
        await connection.execute(QUERIES["lock_lease"], attempt)
    row = await connection.fetchrow(QUERIES["read"], run)
    assert row is not None, "its row is locked"
    decision = decide_cancellation(CancelledRun(row["status"], row["cancelled"], row["attempt_status"]))
    if decision == "settle":
        await _settle(connection, run, row)
    return decision


async def _settle(connection: Connection, run: UUID, row: Row) -> None:
    now, attempt = row["now"], row["attempt"]
    if attempt is not None:
        await connection.execute(QUERIES["end_lease"], attempt)
        await connection.execute(QUERIES["end_attempt"], attempt, SCHEDULER, now)
    await connection.execute(QUERIES["end_run"], run, SCHEDULER, now, row["status"])
