"""Runs, their events and attempts, as rows of the views."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from tenure_postgres.database import Connection, Row
from tenure_postgres.query import folder

QUERIES: Final = folder(__package__)


@dataclass(frozen=True, slots=True)
class RunFilter:
    """Which runs of a project a list shows; None: all."""

    status: str | None = None
    task: str | None = None
    trigger: str | None = None
    since: datetime | None = None


async def list_runs(
    connection: Connection, project: str, wanted: RunFilter, before: UUID | None, limit: int
) -> list[Row]:
    """Runs of a project, newest first, older than `before`."""
    return await connection.fetch(
        QUERIES["runs"],
        project,
        None,
        before,
        wanted.status,
        wanted.task,
        wanted.trigger,
        wanted.since,
        limit,
    )


async def show_runs(connection: Connection, project: str, runs: Sequence[UUID]) -> dict[UUID, Row]:
    """Some runs of a project; those of other projects are missing."""
    rows = await connection.fetch(QUERIES["runs"], project, runs, None, None, None, None, None, len(runs))
    return {row["run"]: row for row in rows}


async def run_exists(connection: Connection, project: str, run: UUID) -> bool:
    """Whether the project has this run."""
    return bool(await connection.fetchval(QUERIES["run_exists"], project, run))


async def list_events(connection: Connection, run: UUID, after: int, limit: int) -> list[Row]:
    """Events in order, after a sequence number."""
    return await connection.fetch(QUERIES["run_events"], run, after, limit)


async def list_attempts(connection: Connection, run: UUID, after: int, limit: int) -> list[Row]:
    """Attempts in order, after a number."""
    return await connection.fetch(QUERIES["run_attempts"], run, after, limit)
