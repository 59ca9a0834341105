"""Workers and their current sessions, as rows of the views."""

from __future__ import annotations

from typing import Final

from tenure_postgres.database import Connection, Row
from tenure_postgres.query import folder

QUERIES: Final = folder(__package__)


async def list_workers(connection: Connection, after: str | None, limit: int) -> list[Row]:
    """Workers by name, after a name."""
    return await connection.fetch(QUERIES["workers"], None, after, limit)


async def show_worker(connection: Connection, worker: str) -> Row | None:
    """One worker."""
    return await connection.fetchrow(QUERIES["workers"], worker, None, 1)


async def list_sessions(connection: Connection, worker: str, limit: int) -> list[Row]:
    """The newest sessions of a worker, newest first."""
    return await connection.fetch(QUERIES["worker_sessions"], worker, limit)
