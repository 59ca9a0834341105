"""Heartbeats for a lane: many sessions in one statement, and a verdict for each of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from tenure_ingress.repository.call import QUERIES
from tenure_ingress.repository.caller import Caller
from tenure_ingress.repository.row import HeartbeatRow
from tenure_postgres.database import Connection
from tenure_postgres.lane import Locked


async def beat(connection: Connection, callers: Sequence[Caller]) -> Sequence[HeartbeatRow | Locked[Caller]]:
    """Extend the session of each caller, no two of one session. One that is locked is to be tried again."""
    columns = zip(*(caller.columns for caller in callers), strict=True)
    rows = cast("Sequence[HeartbeatRow]", await connection.fetch(QUERIES["heartbeat"], *map(list, columns)))
    return [Locked(caller) if row["locked"] else row for caller, row in zip(callers, rows, strict=True)]
