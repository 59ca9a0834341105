"""What every unit of work shares that makes an attempt."""

from __future__ import annotations

from datetime import datetime
from typing import Final
from uuid import UUID

from uuid6 import uuid7

from tenure_contracts.event import SCHEDULER
from tenure_postgres.database import Connection
from tenure_postgres.query import folder

QUERIES: Final = folder(__package__)


async def lock_run(connection: Connection, run: UUID) -> bool:
    """Take the lock of the aggregate. False: somebody else holds it."""
    return await connection.fetchval(QUERIES["lock_run"], run) is not None


async def read_clock(connection: Connection) -> datetime:
    """The database's time now; asked for after the locks, so that waiting for them counts."""
    now: datetime = await connection.fetchval(QUERIES["clock"])
    return now


async def create_attempt(connection: Connection, run: UUID, now: datetime) -> None:
    """Make a fresh attempt of a queued run without one. The caller holds the run lock."""
    await connection.execute(QUERIES["create"], run, uuid7(), SCHEDULER, now)
