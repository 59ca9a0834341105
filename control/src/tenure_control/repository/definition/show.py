"""Definitions as they are shown."""

from __future__ import annotations

from typing import Final, Literal

from tenure_postgres.database import Connection, Row
from tenure_postgres.query import folder

QUERIES: Final = folder(__package__)

Kind = Literal["task", "trigger"]


async def show(
    connection: Connection, kind: Kind, project: str, name: str, revision: int | None = None
) -> Row | None:
    """One revision of a definition; None: the current one."""
    return await connection.fetchrow(QUERIES[f"show_{kind}"], project, name, revision)


async def list_page(
    connection: Connection, kind: Kind, project: str, after: str | None, limit: int
) -> list[Row]:
    """Current revisions by name, after a name."""
    return await connection.fetch(QUERIES[f"list_{kind}s"], project, after, limit)
