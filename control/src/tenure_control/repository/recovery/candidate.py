"""Candidates of recovery, and the units of work that decide what a lease row alone can decide."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from tenure_control.decision.recovery import LEASE_MAX, Decision, LeaseFacts, decide_recovery
from tenure_postgres.database import Connection, Row
from tenure_postgres.query import folder

QUERIES: Final = folder(__package__)


@dataclass(frozen=True, slots=True)
class Candidate:
    """An attempt whose authority had ended when it was looked for."""

    attempt: UUID
    started: bool


async def look(connection: Connection, limit: int) -> Sequence[Candidate]:
    """Up to `limit` candidates that something can be done about now."""
    rows = await connection.fetch(QUERIES["look"], limit, LEASE_MAX)
    return [Candidate(row["attempt"], row["started"]) for row in rows]


async def insert_missing(connection: Connection) -> int:
    """Give every started candidate a recovery row; how many were missing."""
    tag = await connection.execute(QUERIES["insert_missing"], LEASE_MAX)
    return int(tag.rpartition(" ")[2])


async def return_to_queue(connection: Connection, attempt: UUID, actor: str) -> tuple[Decision | None, str]:
    """Decide about an unstarted candidate under its locks, and return it to the queue if it still is one.

    The decision, and the run's new status if it was returned; None: somebody else holds it.
    """
    if not await connection.fetchval(QUERIES["lock"], attempt):
        return None, ""
    row = await connection.fetchrow(QUERIES["read"], attempt)
    assert row is not None, "its row is locked"
    decision = decide_recovery(facts_of(row))
    if decision != "return_to_queue":
        return decision, ""
    status: str = await connection.fetchval(QUERIES["return_to_queue"], attempt, actor)
    return decision, status


def facts_of(row: Row) -> LeaseFacts:
    """What the decision needs of a row of `read`."""
    return LeaseFacts(row["attempt_status"], row["lease_state"], row["expires_at"], row["now"])
