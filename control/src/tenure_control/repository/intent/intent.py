"""Sets a cancel intent: run first, then, in a later statement, the lease.

In one statement the copy would miss a lease that was being claimed during the wait for the run: what a
statement reads beside the row that it locked is as old as the statement.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias
from uuid import UUID

from tenure_control.repository.definition.project import read_clock
from tenure_postgres.database import Connection
from tenure_postgres.query import folder

QUERIES: Final = folder(__package__)

Reason: TypeAlias = Literal["user", "policy"]


@dataclass(frozen=True, slots=True)
class LockedRun:
    """A run whose lock the caller holds."""

    run: UUID
    status: str
    ended: bool


async def lock_run(connection: Connection, project: str, run: UUID) -> LockedRun | None:
    """Lock a run until the end of the transaction; None when the project has no such run."""
    row = await connection.fetchrow(QUERIES["lock_run"], project, run)
    return LockedRun(run, row["status"], row["ended"]) if row is not None else None


async def request_cancel(connection: Connection, run: UUID, actor: str, reason: Reason) -> None:
    """Write the intent on a locked run that has not ended, and its stop on the lease, if there is one."""
    now = await read_clock(connection)
    await connection.execute(QUERIES["intend"], run, actor, now, reason)
    await connection.execute(QUERIES["copy_stop"], run, now, reason)
