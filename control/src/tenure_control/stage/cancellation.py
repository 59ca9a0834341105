"""Convergence: runs with a cancel intent end as soon as nobody can be executing them.

Started work waits for its worker, which gets the stop with its next renewal. What waits at the head never
keeps later runs from being looked at: the walk goes on behind it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Final
from uuid import UUID

from tenure_control.repository.cancellation import run as runs
from tenure_control.stage.outcome import HELD, RACED, StageSummary
from tenure_control.stage.walk import Bounds, walk
from tenure_postgres.database import Database

NAME: Final = "cancellation"
BOUNDS: Final = Bounds(32, 4)


async def run(database: Database, bounds: Bounds = BOUNDS) -> StageSummary:
    """Up to `bounds` runs with a cancel intent."""

    async def look(after: Any, limit: int) -> Sequence[UUID]:
        return await database.fetch(partial(runs.look, after=after, limit=limit))

    async def converge(candidate: UUID) -> str:
        decision = await database.transact(partial(runs.converge, run=candidate))
        return {"settle": "cancelled", "wait": HELD, "leave": RACED}[decision]

    return await walk(NAME, bounds, look, converge, key=lambda candidate: candidate)
