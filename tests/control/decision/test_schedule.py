"""The scheduling decision, every row of it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure_contracts.definition import TriggerSpec, compile_trigger, read_trigger
from tenure_contracts.wire.field import Instant
from tenure_control.decision.schedule import (
    Admit,
    CursorFacts,
    Initialize,
    Skip,
    decide_overlap,
    decide_schedule,
    occurrence_of,
)

NOON = datetime(2026, 12, 1, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


def spec_of(cron: str = "*/10 * * * *", **definition: Any) -> TriggerSpec:
    """A compiled trigger."""
    declared = {"task": "t", "cron": cron, "timezone": "UTC", **definition}
    return compile_trigger("t", read_trigger(declared)).spec


def facts(
    spec: TriggerSpec,
    next_fire_at: datetime | None,
    observed_at: datetime = NOON,
    seen: datetime | None = None,
) -> CursorFacts:
    """A cursor."""
    return CursorFacts("shop/t", spec, next_fire_at, observed_at, seen)


def test_a_new_cursor_is_initialised_with_the_first_time_after_the_observation() -> None:
    assert decide_schedule(facts(spec_of(), None)) == Initialize(NOON + 10 * MINUTE)


def test_a_cursor_that_is_not_due_is_initialised() -> None:
    assert decide_schedule(facts(spec_of(), NOON + MINUTE)) == Initialize(NOON + 10 * MINUTE)


def test_a_due_cursor_admits_its_occurrence() -> None:
    assert decide_schedule(facts(spec_of(), NOON)) == Admit(NOON, NOON, NOON + 10 * MINUTE)


def test_a_backlog_is_one_run_and_the_next_time_is_after_the_observation() -> None:
    decision = decide_schedule(facts(spec_of(), NOON - timedelta(days=3)))
    assert decision == Admit(NOON - timedelta(days=3), NOON - timedelta(days=3), NOON + 10 * MINUTE)


GRACE = [(timedelta(seconds=30), Admit), (timedelta(seconds=30, microseconds=1), Skip)]


@pytest.mark.parametrize(("late", "kind"), GRACE)
def test_beyond_its_grace_a_misfire_is_skipped(late: timedelta, kind: type) -> None:
    decision = decide_schedule(facts(spec_of(misfire="skip", grace="30s"), NOON - late))
    assert isinstance(decision, kind)
    assert decision.next_fire_at == NOON + 10 * MINUTE


def test_start_and_end_bound_the_occurrences() -> None:
    start, end = Instant.of(NOON + timedelta(hours=1)), Instant.of(NOON + timedelta(hours=1, minutes=10))
    spec = spec_of(start=start.text(), end=end.text())
    assert decide_schedule(facts(spec, None)) == Initialize(start)
    assert decide_schedule(facts(spec, start, start)) == Admit(start, start, end)
    assert decide_schedule(facts(spec, end, end)) == Admit(end, end, None)
    assert decide_schedule(facts(spec, None, end)) == Initialize(None)


def test_a_clock_that_went_back_recomputes() -> None:
    far = datetime(2030, 1, 1, tzinfo=UTC)
    decision = decide_schedule(facts(spec_of(), far, NOON, seen=far))
    assert decision == Initialize(NOON + 10 * MINUTE, "clock_regressed")
    tolerated = facts(spec_of(), NOON, NOON, seen=NOON + timedelta(seconds=5))
    assert isinstance(decide_schedule(tolerated), Admit)


@pytest.mark.parametrize(("overlap", "has_open_run", "kind"), [
    ("allow", True, Admit),
    ("allow", False, Admit),
    ("skip", False, Admit),
    ("skip", True, Skip),
])  # fmt: skip
def test_overlap(overlap: str, has_open_run: bool, kind: type) -> None:
    decision = Admit(NOON, NOON, NOON + MINUTE)
    outcome = decide_overlap(decision, spec_of(overlap=overlap), has_open_run=has_open_run)
    assert isinstance(outcome, kind)
    assert outcome.next_fire_at == decision.next_fire_at


def test_jitter_is_the_same_for_everybody_and_never_loses_the_occurrence() -> None:
    spec = spec_of("0 * * * *", jitter="5m")
    first = decide_schedule(facts(spec, None))
    assert isinstance(first, Initialize)
    assert first == decide_schedule(facts(spec, None))
    assert first.next_fire_at is not None
    assert first.next_fire_at != NOON + timedelta(hours=1)
    assert occurrence_of(facts(spec, None), first.next_fire_at) == NOON + timedelta(hours=1)
    admitted = decide_schedule(facts(spec, first.next_fire_at, first.next_fire_at))
    assert isinstance(admitted, Admit)
    assert admitted.occurrence == NOON + timedelta(hours=1)


@given(
    st.sampled_from(["*/5 * * * *", "0 2 * * *", "*/20 * * * * *"]),
    st.integers(0, 300),
    st.integers(0, 86_400),
)
def test_cursors_only_go_forward(cron: str, jitter_s: int, seconds: int) -> None:
    spec = spec_of(cron, jitter=f"{jitter_s}s")
    observed = NOON + timedelta(seconds=seconds)
    next_fire_at = decide_schedule(facts(spec, None, observed)).next_fire_at
    occurrence = NOON - timedelta(days=1)
    for _ in range(3):
        assert next_fire_at is not None
        assert next_fire_at > observed
        observed = next_fire_at
        decision = decide_schedule(facts(spec, next_fire_at, observed))
        assert isinstance(decision, Admit)
        assert decision.occurrence > occurrence
        assert timedelta() <= decision.fire_at - decision.occurrence <= timedelta(seconds=jitter_s)
        occurrence, next_fire_at = decision.occurrence, decision.next_fire_at
