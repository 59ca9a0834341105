"""One scheduling decision about one claimed cursor: initialise, skip, or admit one run.

All times are the database's. A backlog is never replayed one by one: at most one run is admitted, and the
next fire time is the first one after the observation.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Literal

from tenure_contracts.cron import decide_misfire, jitter_us
from tenure_contracts.definition import TriggerSpec
from tenure_control.decision.cron import occurrences

CLOCK_TOLERANCE: Final = timedelta(seconds=5)
"""What an observation may lie before the one that a cursor saw last: clocks of replicas after a failover."""

_TICK: Final = timedelta(microseconds=1)

SkipReason = Literal["misfire", "overlap", "project_archived", "task_archived"]
InitializeReason = Literal["not_due", "clock_regressed"]


@dataclass(frozen=True, slots=True)
class CursorFacts:
    """A claimed cursor, as its claim saw it. `name` is `project/trigger`; jitter is in `next_fire_at`."""

    name: str
    spec: TriggerSpec
    next_fire_at: datetime | None
    observed_at: datetime
    last_observed_at: datetime | None


@dataclass(frozen=True, slots=True)
class Initialize:
    """No occurrence is due: write down when the next one is (None: never again)."""

    next_fire_at: datetime | None
    reason: InitializeReason = "not_due"


@dataclass(frozen=True, slots=True)
class Skip:
    """Let an occurrence pass without a run."""

    occurrence: datetime
    next_fire_at: datetime | None
    reason: SkipReason


@dataclass(frozen=True, slots=True)
class Admit:
    """Admit the run of one occurrence. `occurrence` is the cron time, `fire_at` that time with its jitter."""

    occurrence: datetime
    fire_at: datetime
    next_fire_at: datetime | None


ScheduleDecision = Initialize | Skip | Admit


def decide_schedule(facts: CursorFacts) -> ScheduleDecision:
    """Decide from what the claim observed. Raises CronError for an expression that cannot be read."""
    if has_regressed(facts):
        return Initialize(_first_fire(facts), "clock_regressed")
    spec, due = facts.spec, facts.next_fire_at
    decision = decide_misfire(due, facts.observed_at, spec.grace_us, spec.misfire)
    if due is None or decision == "initialize":
        return Initialize(_first_fire(facts))
    occurrence = occurrence_of(facts, due)
    following = _fire_after(facts, occurrence)
    if decision == "skip":
        return Skip(occurrence, following, "misfire")
    return Admit(occurrence, due, following)


def decide_overlap(decision: Admit, spec: TriggerSpec, *, has_open_run: bool) -> Admit | Skip:
    """What becomes of an admission, knowing under the cursor's lock whether an older run has not ended."""
    if spec.overlap == "skip" and has_open_run:
        return Skip(decision.occurrence, decision.next_fire_at, "overlap")
    return decision


def has_regressed(facts: CursorFacts) -> bool:
    """Whether the clock went back since this cursor was last observed."""
    last = facts.last_observed_at
    return last is not None and last - facts.observed_at > CLOCK_TOLERANCE


def occurrence_of(facts: CursorFacts, fire_at: datetime) -> datetime:
    """The cron time whose fire time this is; a time that no rule gives stands for itself."""
    if not facts.spec.jitter_us:
        return fire_at
    earliest = fire_at - _longest_jitter(facts) - _TICK
    for occurrence in occurrences(facts.spec.cron, facts.spec.timezone, earliest):
        if occurrence > fire_at:
            break
        if _with_jitter(facts, occurrence) == fire_at:
            return occurrence
    return fire_at


def _first_fire(facts: CursorFacts) -> datetime | None:
    return next(_fires(facts, facts.observed_at), None)


def _fire_after(facts: CursorFacts, occurrence: datetime) -> datetime | None:
    # A cron time may be past while its jitter still holds it back.
    return next(_fires(facts, max(occurrence, facts.observed_at - _longest_jitter(facts))), None)


def _fires(facts: CursorFacts, after: datetime) -> Iterator[datetime]:
    """Fire times after the observation, of cron times after `after` and within the window of the trigger."""
    spec = facts.spec
    # The start itself may be an occurrence, and the next one is looked for strictly after a moment.
    begin = after if spec.start is None else max(after, spec.start - _TICK)
    for occurrence in occurrences(spec.cron, spec.timezone, begin):
        if spec.end is not None and occurrence > spec.end:
            return
        fire_at = _with_jitter(facts, occurrence)
        if fire_at > facts.observed_at:
            yield fire_at


def _with_jitter(facts: CursorFacts, occurrence: datetime) -> datetime:
    return occurrence + timedelta(microseconds=jitter_us(facts.name, occurrence, facts.spec.jitter_us))


def _longest_jitter(facts: CursorFacts) -> timedelta:
    return timedelta(microseconds=facts.spec.jitter_us)
