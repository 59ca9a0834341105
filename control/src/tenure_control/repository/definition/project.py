"""Projects: made, weighed, locked, read."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from tenure_postgres.database import Connection, Row
from tenure_postgres.query import folder

QUERIES: Final = folder(__package__)


async def read_clock(connection: Connection) -> datetime:
    """The database's time, to be asked after the locks are held."""
    now: datetime = await connection.fetchval(QUERIES["read_clock"])
    return now


async def project_state(connection: Connection, project: str) -> str | None:
    """`active`, `archived`, or None while there is no such project."""
    state: str | None = await connection.fetchval(QUERIES["read_project_state"], project)
    return state


async def create_project(connection: Connection, project: str, weight: int = 1) -> bool:
    """Make a project; False when somebody else made it first."""
    now = await read_clock(connection)
    made = await connection.fetchval(QUERIES["create_project"], project, weight, now)
    return made is not None


async def hold_project(connection: Connection, project: str) -> str | None:
    """Lock a project against being archived until the end of the transaction; its state."""
    state: str | None = await connection.fetchval(QUERIES["lock_project"], project)
    return state


async def take_project(connection: Connection, project: str) -> Row | None:
    """Lock a project for a change of itself; its state and weight."""
    return await connection.fetchrow(QUERIES["lock_project_row"], project)


async def weigh_project(connection: Connection, project: str, weight: int) -> None:
    """Change the fair-share weight. The caller took the project."""
    await connection.execute(QUERIES["weigh_project"], project, weight)


async def read_project(connection: Connection, project: str) -> Row | None:
    """The row of a project."""
    return await connection.fetchrow(QUERIES["read_project"], project)


async def list_projects(connection: Connection, operator: str, after: str | None, limit: int) -> list[Row]:
    """Projects in which the operator has a role, by name."""
    return await connection.fetch(QUERIES["list_projects"], operator, after, limit)
