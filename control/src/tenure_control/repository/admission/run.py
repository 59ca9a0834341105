"""Units of work of attempt admission."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final
from uuid import UUID

from tenure_contracts.event import SCHEDULER
from tenure_control.decision.admission import AdmissionDecision, QueuedRun, decide_admission
from tenure_control.repository.attempt.attempt import create_attempt, lock_run, read_clock
from tenure_postgres.database import Connection
from tenure_postgres.query import folder

QUERIES: Final = folder(__package__)


async def look(connection: Connection, after: UUID | None, limit: int) -> Sequence[UUID]:
    """Up to `limit` queued runs without an attempt, after one."""
    return [row["run"] for row in await connection.fetch(QUERIES["look"], after, limit)]


async def admit(connection: Connection, run: UUID) -> AdmissionDecision:
    """Lock one run, read it anew, and give it an attempt if it still needs one; end it if it is damaged."""
    if not await lock_run(connection, run):
        return "leave"
    row = await connection.fetchrow(QUERIES["read"], run)
    assert row is not None, "its row is locked"
    decision = decide_admission(
        QueuedRun(
            row["status"],
            row["cancelled"],
            row["has_attempt"],
            row["plan"],
            row["plan_digest"],
            row["task_digest"],
            row["revision_spec"],
            row["revision_digest"],
        )
    )
    if decision == "admit":
        await create_attempt(connection, run, await read_clock(connection))
    elif decision == "digest_mismatch":
        await connection.execute(QUERIES["fail"], run, SCHEDULER, await read_clock(connection))
    return decision
