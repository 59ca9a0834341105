"""Units of work of the retry stage: each locks one run, reads it anew, decides, and writes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

from tenure_contracts.event import SCHEDULER
from tenure_contracts.policy import GiveUp, Retry, RetryPolicy
from tenure_control.decision.retry import Requeue, WaitingRun, decide_waiting
from tenure_control.repository.attempt.attempt import create_attempt, lock_run
from tenure_postgres.database import Connection, Row
from tenure_postgres.query import folder

QUERIES: Final = folder(__package__)


async def look(connection: Connection, limit: int) -> Sequence[UUID]:
    """Lost runs first, then those whose next try is due; up to `limit` altogether."""
    lost = [row["run"] for row in await connection.fetch(QUERIES["look_lost"], limit)]
    due = [row["run"] for row in await connection.fetch(QUERIES["look_due"], limit)]
    return (lost + due)[:limit]


async def move_on(connection: Connection, run: UUID) -> str | None:
    """Decide about one run and do it: `requeued`, `waiting` or `failed`; None: nothing of ours to do."""
    if not await lock_run(connection, run):
        return None
    row = await connection.fetchrow(QUERIES["read"], run)
    assert row is not None, "its row is locked"
    decision = decide_waiting(_waiting(row))
    number, now = row["attempts"], row["now"]
    if isinstance(decision, GiveUp):
        await connection.execute(QUERIES["give_up"], run, SCHEDULER, decision.reason, now, number)
        return decision.reason
    if isinstance(decision, Retry):
        await connection.execute(QUERIES["wait"], run, SCHEDULER, decision.delay_us, now, number)
        if decision.delay_us > 0:
            return "waiting"
    elif not isinstance(decision, Requeue):
        return None
    await _requeue(connection, run, number, now)
    return "requeued"


async def _requeue(connection: Connection, run: UUID, number: int, now: datetime) -> None:
    await connection.execute(QUERIES["requeue"], run, SCHEDULER, now, number)
    await create_attempt(connection, run, now)


def _waiting(row: Row) -> WaitingRun:
    return WaitingRun(
        status=row["status"],
        cancelled=row["cancelled"],
        next_attempt_at=row["next_attempt_at"],
        tries=row["tries"],
        policy=_policy(row),
        now=row["now"],
    )


def _policy(row: Row) -> RetryPolicy | None:
    if row["max_attempts"] is None:
        return None
    return RetryPolicy(
        max_attempts=row["max_attempts"],
        on_failed=row["on_failed"],
        on_timed_out=row["on_timed_out"],
        on_lost=row["on_lost"],
        safety=row["safety"],
        delays_us=tuple(row["delays_us"]),
        exit_codes=json.loads(row["exit_codes"]),
    )
