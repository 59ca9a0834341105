"""Attempt admission: queued runs without an attempt get one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final
from uuid import UUID

from tenure_control.repository.admission import run as runs
from tenure_control.stage.outcome import RACED, StageSummary
from tenure_control.stage.walk import Bounds, walk
from tenure_postgres.database import Database

NAME: Final = "admission"
BOUNDS: Final = Bounds(32, 4)


async def run(database: Database, dispatch: Callable[[], None], bounds: Bounds = BOUNDS) -> StageSummary:
    """Up to `bounds` runs. `dispatch` is called when work became dispatchable."""

    async def look(after: Any, limit: int) -> Sequence[UUID]:
        return await database.fetch(partial(runs.look, after=after, limit=limit))

    async def admit(candidate: UUID) -> str:
        decision = await database.transact(partial(runs.admit, run=candidate))
        if decision == "admit":
            dispatch()
        return {"admit": "admitted", "leave": RACED, "digest_mismatch": decision}[decision]

    return await walk(NAME, bounds, look, admit, key=lambda candidate: candidate)
