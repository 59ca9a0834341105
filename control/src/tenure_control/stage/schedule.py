"""Trigger schedule: cursors that are due, claimed one by one.

The cron computation stands outside of any transaction, between the claim and the commit of its decision. A
candidate's own fault leaves its claim to expire, so that it is met again after that time and not at once.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Final

import msgspec

from tenure_contracts.definition import TaskSpec, TriggerSpec, decode_task_spec, decode_trigger_spec
from tenure_contracts.digest import TASK_DOMAIN, TRIGGER_DOMAIN, digest_of_text
from tenure_contracts.template import TemplateError
from tenure_control.decision.cron import CronError
from tenure_control.decision.render import render_trigger
from tenure_control.decision.schedule import (
    Admit,
    CursorFacts,
    ScheduleDecision,
    decide_overlap,
    decide_schedule,
)
from tenure_control.incarnation import Incarnation
from tenure_control.repository.cursor import claim as claims
from tenure_control.repository.cursor import commit as commits
from tenure_control.repository.cursor.claim import Claim
from tenure_control.repository.cursor.commit import Occurrence, Outcome
from tenure_control.stage.outcome import RACED, CandidateFault, StageSummary, Tally
from tenure_control.stage.walk import one, tallied
from tenure_postgres.database import Connection, Database

NAME: Final = "schedule"
CLAIMS: Final = 16

_AVAILABLE: Final = ("allow", "skip")

Claimer = Callable[[Connection, str], Awaitable[Claim | None]]


class ClockRegressedError(Exception):
    """The database's clock went back: no time that was computed before can be relied on in this cycle."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """What the stage needs. `dispatch` is called when work became dispatchable; `late` hears how late the
    oldest due cursor is.
    """

    database: Database
    incarnation: Incarnation
    dispatch: Callable[[], None]
    late: Callable[[timedelta], None] = lambda _: None
    claims: int = CLAIMS


async def run(schedule: Schedule) -> StageSummary:
    """Up to `schedule.claims` decisions. Raises StageError when the clock went back."""
    async with tallied(NAME) as tally:
        if await _each(schedule, tally, claims.claim_regressed):
            raise ClockRegressedError("clock_regressed")
        await _each(schedule, tally, claims.claim_due)
    return tally.summary()


async def _each(schedule: Schedule, tally: Tally, claimer: Claimer) -> int:
    """Claim and decide until no cursor is left or the bound is reached; how many were claimed."""
    owner = schedule.incarnation.owner
    tally.pages += 1
    for done in range(schedule.claims):
        claim = await schedule.database.transact(lambda connection: claimer(connection, owner))
        if done == 0:
            schedule.late(claim.observed_at - claim.due_at if claim else timedelta())
        if claim is None:
            return done
        tally.scanned += 1
        await one(tally, partial(_decide, schedule), claim)
    tally.truncated = True
    return schedule.claims


async def _decide(schedule: Schedule, claim: Claim) -> str:
    spec, task = _read(claim)
    facts = CursorFacts(claim.name, spec, claim.next_fire_at, claim.observed_at, claim.last_observed_at)
    try:
        decision = decide_schedule(facts)
        occurrence = _render(spec, task, decision)
    except (CronError, TemplateError) as error:
        raise CandidateFault(claim.name, "undecidable", str(error)) from error
    outcome = await schedule.database.transact(partial(_commit, claim, spec, decision, occurrence))
    if outcome == "admitted":
        schedule.dispatch()
    return outcome or RACED


async def _commit(
    claim: Claim,
    spec: TriggerSpec,
    decision: ScheduleDecision,
    occurrence: Occurrence | None,
    connection: Connection,
) -> Outcome | None:
    if not await commits.hold(connection, claim):
        return None
    if isinstance(decision, Admit) and spec.overlap == "skip":
        open_run = await commits.has_open_run(connection, claim)
        decision = decide_overlap(decision, spec, has_open_run=open_run)
    if isinstance(decision, Admit) and occurrence is not None:
        return await commits.admit(connection, claim, decision, occurrence)
    return await commits.advance(connection, claim, decision)


def _render(spec: TriggerSpec, task: TaskSpec, decision: ScheduleDecision) -> Occurrence | None:
    if not isinstance(decision, Admit):
        return None
    return Occurrence(*render_trigger(spec, task, decision.occurrence))


def _read(claim: Claim) -> tuple[TriggerSpec, TaskSpec]:
    """The pinned revisions, each verified against its digest, and the task's against the trigger's pin."""
    trigger, task = claim.trigger_spec, claim.task_spec
    if (
        digest_of_text(TRIGGER_DOMAIN, trigger.spec) != trigger.digest
        or digest_of_text(TASK_DOMAIN, task.spec) != task.digest
        or task.digest != claim.task_digest
    ):
        raise CandidateFault(claim.name, "digest_mismatch", "a pinned revision is not what was published")
    try:
        specs = decode_trigger_spec(trigger.spec), decode_task_spec(task.spec)
    except msgspec.DecodeError as error:
        raise CandidateFault(claim.name, "undecodable", str(error)) from error
    if specs[0].overlap not in _AVAILABLE or specs[1].concurrency is not None:
        raise CandidateFault(claim.name, "not_available", "its overlap or concurrency rule is not")
    return specs
