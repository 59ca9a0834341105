"""Committing one scheduling decision: cursor, run, policy, events and attempt in one transaction.

Whatever was decided is compared with every fence under the locks of the lock order: project, heads, cursor.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Literal
from uuid import UUID

import msgspec
from uuid6 import uuid7

from tenure_contracts.cursor import Decision
from tenure_contracts.event import SCHEDULER
from tenure_control.decision.render import RenderedPlan
from tenure_control.decision.schedule import (
    Admit,
    Initialize,
    ScheduleDecision,
    Skip,
    SkipReason,
)
from tenure_control.repository.attempt.attempt import read_clock
from tenure_control.repository.cursor.claim import QUERIES, Claim
from tenure_postgres.database import Connection, Row

Outcome = Literal["initialized", "skipped", "admitted", "adopted"]

EVENTS: Final[dict[Decision, str]] = {
    "initialize": "trigger.initialized",
    "skip": "trigger.skipped",
    "admit": "trigger.admitted",
}

# A refused admission lets the occurrence pass: what is archived admits nothing, now or later.
_SKIPPED: Final[dict[str, SkipReason]] = {
    "project_archived": "project_archived",
    "task_archived": "task_archived",
}


@dataclass(frozen=True, slots=True)
class Occurrence:
    """What an admission needs beside the decision, rendered before the transaction. `input` is JSON text."""

    input: str
    plan: RenderedPlan


async def hold(connection: Connection, claim: Claim) -> bool:
    """Lock what a commit needs and compare every fence. False: the claim authorises nothing any more."""
    heads: Row | None = await connection.fetchrow(
        QUERIES["lock_definitions"], claim.project, claim.task, claim.trigger
    )
    held = await connection.fetchval(
        QUERIES["lock"],
        claim.project,
        claim.trigger,
        claim.token,
        claim.claim_version,
        claim.state_version,
        claim.revision,
    )
    if heads is None or held is None:
        return False
    return bool(heads["trigger_state"] == "active" and heads["trigger_revision"] == claim.revision)


async def has_open_run(connection: Connection, claim: Claim) -> bool:
    """Whether an older run of the trigger has not ended. Under the cursor's lock none is being admitted."""
    return bool(await connection.fetchval(QUERIES["has_open_run"], claim.project, claim.trigger))


async def admit(connection: Connection, claim: Claim, decision: Admit, occurrence: Occurrence) -> Outcome:
    """Admit the run of an occurrence, or adopt the one that its key admitted before; advance the cursor."""
    row = await connection.fetchrow(
        QUERIES["admit"],
        uuid7(),
        uuid7(),
        claim.project,
        claim.task,
        claim.task_revision,
        claim.trigger,
        claim.revision,
        decision.occurrence,
        occurrence_key(claim, decision.occurrence),
        occurrence.plan.text,
        occurrence.plan.digest,
        occurrence.input,
        SCHEDULER,
    )
    assert row is not None, "the function answers with one row"
    if row["run"] is None:
        reason = _SKIPPED[row["refusal"]]
        return await advance(connection, claim, Skip(decision.occurrence, decision.next_fire_at, reason))
    await advance(connection, claim, decision, run=row["run"], created=row["created"])
    return "admitted" if row["created"] else "adopted"


async def advance(
    connection: Connection,
    claim: Claim,
    decision: ScheduleDecision,
    *,
    run: UUID | None = None,
    created: bool = False,
) -> Outcome:
    """End the claim with its decision, and write the event of the trigger."""
    word: Decision = "admit"
    outcome: Outcome = "admitted"
    if isinstance(decision, Initialize):
        word, outcome = "initialize", "initialized"
    elif isinstance(decision, Skip):
        word, outcome = "skip", "skipped"
    await connection.execute(
        QUERIES["advance"],
        claim.project,
        claim.trigger,
        word,
        decision.next_fire_at,
        decision.fire_at if isinstance(decision, Admit) else None,
        EVENTS[word],
        SCHEDULER,
        await read_clock(connection),
        msgspec.json.encode(_payload(claim, decision, run, created)).decode(),
    )
    return outcome


def occurrence_key(claim: Claim, occurrence: datetime) -> str:
    """The idempotency key of the run of one occurrence."""
    return f"cron:{claim.trigger}:{claim.revision}:{occurrence:%Y-%m-%dT%H:%M:%S.%fZ}"


def _payload(claim: Claim, decision: ScheduleDecision, run: UUID | None, created: bool) -> dict[str, Any]:
    facts: dict[str, Any] = {"revision": claim.revision, "next_fire_at": decision.next_fire_at}
    if isinstance(decision, Admit):
        return facts | {"scheduled_for": decision.occurrence, "run": run, "adopted": not created}
    if isinstance(decision, Skip):
        facts |= {"scheduled_for": decision.occurrence}
    return facts | {"reason": decision.reason}
