"""Finding workflow runs whose steps may move."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final
from uuid import UUID

from tenure_postgres.database import Connection
from tenure_postgres.query import folder

QUERIES: Final = folder(__package__)


async def look(connection: Connection, after: UUID | None, limit: int) -> Sequence[UUID]:
    """Up to `limit` open workflow runs after one."""
    return [row["run"] for row in await connection.fetch(QUERIES["look"], after, limit)]
