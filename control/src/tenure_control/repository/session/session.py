"""Drain requests: the worker hears of one with its next answer."""

from __future__ import annotations

from typing import Final

from tenure_postgres.database import Connection
from tenure_postgres.query import folder

QUERIES: Final = folder(__package__)


async def request_drain(connection: Connection, worker: str) -> bool:
    """Ask the live session of a worker to take nothing more. False when there is none."""
    return await connection.fetchval(QUERIES["request_drain"], worker) is not None
