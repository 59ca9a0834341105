"""Recovery rows: claims to investigate, and what was found."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Final, Literal
from uuid import UUID, uuid4

import msgspec

from tenure_contracts.plan import Executor, decode_plan
from tenure_control.decision.recovery import LeaseFacts
from tenure_control.repository.recovery.candidate import QUERIES, facts_of
from tenure_postgres.database import Connection

CLAIM: Final = timedelta(seconds=30)


@dataclass(frozen=True, slots=True)
class Claim:
    """The right to investigate one attempt, and nothing else. `executor` is None when the plan is damaged."""

    attempt: UUID
    token: UUID
    version: int
    failures: int
    lease_generation: int
    facts: LeaseFacts
    executor: Executor | None


@dataclass(frozen=True, slots=True)
class Finding:
    """How an investigation ended. `wait_s` belongs to `retry`."""

    status: Literal["resolved", "retry", "manual"]
    answer: str
    wait_s: float | None = None


async def claim(connection: Connection, attempt: UUID, owner: str) -> Claim | None:
    """Claim the investigation; None: another replica has it, or its time has not come."""
    await connection.execute(QUERIES["ensure"], attempt)
    if await connection.fetchval(QUERIES["lock_control"], attempt) is None:
        return None
    row = await connection.fetchrow(QUERIES["read"], attempt)
    if row is None:
        return None
    token, now, attested = uuid4(), row["now"], row["attested_sequence"]
    await connection.execute(QUERIES["release_manual"], attempt, now, attested)
    claimed = await connection.fetchrow(
        QUERIES["claim"],
        attempt,
        owner,
        token,
        now,
        CLAIM,
        row["lease_generation"],
        row["lease_version"],
        attested,
    )
    if claimed is None:
        return None
    return Claim(
        attempt,
        token,
        claimed["claim_version"],
        claimed["failure_count"],
        row["lease_generation"],
        facts_of(row),
        _executor(row["plan"]),
    )


async def settle(connection: Connection, claim: Claim, finding: Finding) -> bool:
    """Write down what was found. False: the claim was taken over, and somebody else's finding counts."""
    settled = await connection.fetchval(
        QUERIES["settle"],
        claim.attempt,
        claim.token,
        claim.version,
        finding.status,
        finding.wait_s,
        finding.answer,
        finding.status == "retry",
    )
    return settled is not None


def _executor(plan: str) -> Executor | None:
    try:
        return decode_plan(plan).executor
    except msgspec.DecodeError:
        return None
