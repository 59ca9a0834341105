"""Workflow frontier: steps that can move.

Nothing publishes a workflow in this version, so an open workflow run is a fault of that row. It fails the
stage, and with it attempt admission: no work is admitted beside state that nobody understands.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Final
from uuid import UUID

from tenure_control.repository.frontier import run as runs
from tenure_control.stage.outcome import CandidateFault, StageSummary
from tenure_control.stage.walk import Bounds, walk
from tenure_postgres.database import Database

NAME: Final = "frontier"
BOUNDS: Final = Bounds(32, 4)


async def run(database: Database, bounds: Bounds = BOUNDS) -> StageSummary:
    """Up to `bounds` open workflow runs. Raises StageError when there is one."""

    async def look(after: Any, limit: int) -> Sequence[UUID]:
        return await database.fetch(partial(runs.look, after=after, limit=limit))

    return await walk(NAME, bounds, look, _refuse, key=lambda candidate: candidate)


async def _refuse(candidate: UUID) -> str:
    raise CandidateFault(str(candidate), "impossible_state", "there are no workflows in this version")
