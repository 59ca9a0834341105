"""Claiming cursors. A claim authorises one scheduling decision, and nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID, uuid4

from tenure_control.decision.schedule import CLOCK_TOLERANCE
from tenure_postgres.database import Connection, Row
from tenure_postgres.query import folder

QUERIES: Final = folder(__package__)

CLAIM: Final = timedelta(seconds=30)


@dataclass(frozen=True, slots=True)
class Pinned:
    """A revision as it is stored: the text that its digest covers."""

    spec: str
    digest: bytes


@dataclass(frozen=True, slots=True)
class Claim:
    """A claimed cursor with everything that its decision is computed from."""

    project: str
    trigger: str
    revision: int
    token: UUID
    claim_version: int
    state_version: int
    due_at: datetime
    next_fire_at: datetime | None
    observed_at: datetime
    last_observed_at: datetime | None
    trigger_spec: Pinned
    task: str
    task_revision: int
    task_digest: bytes
    task_spec: Pinned

    @property
    def name(self) -> str:
        """Project and trigger."""
        return f"{self.project}/{self.trigger}"


async def claim_due(connection: Connection, owner: str) -> Claim | None:
    """Claim the cursor that is due longest; None: none is."""
    token = uuid4()
    return _claim(await connection.fetchrow(QUERIES["claim_due"], owner, token, CLAIM), token)


async def claim_regressed(connection: Connection, owner: str) -> Claim | None:
    """Claim a cursor that was observed by a clock which has gone back since; None: there is none."""
    token = uuid4()
    row = await connection.fetchrow(QUERIES["claim_regressed"], owner, token, CLAIM, CLOCK_TOLERANCE)
    return _claim(row, token)


def _claim(row: Row | None, token: UUID) -> Claim | None:
    if row is None:
        return None
    return Claim(
        project=row["project"],
        trigger=row["trigger"],
        revision=row["revision"],
        token=token,
        claim_version=row["claim_version"],
        state_version=row["state_version"],
        due_at=row["due_at"],
        next_fire_at=row["next_fire_at"],
        observed_at=row["observed_at"],
        last_observed_at=row["last_observed_at"],
        trigger_spec=Pinned(row["spec"], row["digest"]),
        task=row["task"],
        task_revision=row["task_revision"],
        task_digest=row["task_digest"],
        task_spec=Pinned(row["task_spec"], row["revision_digest"]),
    )
