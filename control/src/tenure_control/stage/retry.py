"""Retry: lost runs get the decision of their policy, and due ones a fresh attempt."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final
from uuid import UUID

from tenure_control.repository.retry import run as runs
from tenure_control.stage.outcome import RACED, StageSummary
from tenure_control.stage.walk import Bounds, walk
from tenure_postgres.database import Database

NAME: Final = "retry"
BOUNDS: Final = Bounds(16)


async def run(database: Database, dispatch: Callable[[], None], bounds: Bounds = BOUNDS) -> StageSummary:
    """One page of runs. `dispatch` is called when work became dispatchable."""

    async def look(_: Any, limit: int) -> Sequence[UUID]:
        return await database.fetch(partial(runs.look, limit=limit))

    async def move_on(candidate: UUID) -> str:
        effect = await database.transact(partial(runs.move_on, run=candidate))
        if effect == "requeued":
            dispatch()
        return effect or RACED

    return await walk(NAME, bounds, look, move_on)
