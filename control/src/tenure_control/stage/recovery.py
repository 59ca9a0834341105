"""Runtime recovery: attempts whose lease ended.

Unstarted work goes back to the queue. Started work is investigated: a recovery row is claimed, evidence is
asked for, and the answer is written down with a time for the next look. A candidate that waits is not looked
at before that time, so waiting ones never use up the page.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from tenure_contracts.event import recovery_actor
from tenure_control.decision.recovery import decide_recovery, next_look_s
from tenure_control.evidence.registry import Evidence, Registry, Running, Subject
from tenure_control.incarnation import Incarnation
from tenure_control.repository.recovery import candidate as candidates
from tenure_control.repository.recovery import control as controls
from tenure_control.repository.recovery.candidate import Candidate
from tenure_control.repository.recovery.control import Claim, Finding
from tenure_control.stage.outcome import HELD, RACED, StageSummary
from tenure_control.stage.walk import Bounds, walk
from tenure_postgres.database import Database

NAME: Final = "recovery"
BOUNDS: Final = Bounds(16)


@dataclass(frozen=True, slots=True)
class Recovery:
    """What the stage needs. `dispatch` is called when work became dispatchable."""

    database: Database
    incarnation: Incarnation
    evidence: Registry
    dispatch: Callable[[], None]
    bounds: Bounds = BOUNDS


async def run(recovery: Recovery) -> StageSummary:
    """One page of candidates."""

    async def look(_: Any, limit: int) -> Sequence[Candidate]:
        return await recovery.database.fetch(partial(candidates.look, limit=limit))

    return await walk(NAME, recovery.bounds, look, partial(_recover, recovery))


async def _recover(recovery: Recovery, candidate: Candidate) -> str:
    if candidate.started:
        return await _investigate(recovery, candidate)
    actor = recovery_actor(recovery.incarnation.replica)
    unit = partial(candidates.return_to_queue, attempt=candidate.attempt, actor=actor)
    decision, status = await recovery.database.transact(unit)
    if decision != "return_to_queue":
        return RACED
    if status == "queued":
        recovery.dispatch()
    return "returned" if status == "queued" else "never_started"


async def _investigate(recovery: Recovery, candidate: Candidate) -> str:
    unit = partial(controls.claim, attempt=candidate.attempt, owner=recovery.incarnation.owner)
    claim = await recovery.database.transact(unit)
    if claim is None:
        return RACED
    finding = await _find(recovery, claim)
    if not await recovery.database.transact(partial(controls.settle, claim=claim, finding=finding)):
        return RACED
    return HELD if finding.status == "retry" else finding.status


async def _find(recovery: Recovery, claim: Claim) -> Finding:
    if decide_recovery(claim.facts) != "investigate":
        return Finding("resolved", "live_or_ended")
    subject = Subject(claim.attempt, claim.lease_generation)
    return _finding(await recovery.evidence.ask(claim.executor, subject), claim)


def _finding(evidence: Evidence, claim: Claim) -> Finding:
    answer = "running" if isinstance(evidence, Running) else evidence.reason
    if answer in ("contradictory", "unverifiable"):
        return Finding("manual", answer)
    spread = random.random()  # noqa: S311 - jitter, not a secret
    return Finding("retry", answer, next_look_s(claim.failures, spread))
