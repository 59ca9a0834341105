"""The small decisions: recovery, retry, admission, convergence."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from tenure_contracts import attempt, run
from tenure_contracts.digest import PLAN_DOMAIN, TASK_DOMAIN, digest_of_text
from tenure_contracts.policy import GiveUp, Retry, RetryPolicy
from tenure_control.decision.admission import QueuedRun, decide_admission
from tenure_control.decision.cancellation import CancelledRun, decide_cancellation
from tenure_control.decision.recovery import LeaseFacts, decide_recovery, next_look_s
from tenure_control.decision.retry import LEAVE, Requeue, RunDecision, WaitingRun, decide_waiting

NOW = datetime(2026, 12, 1, tzinfo=UTC)
SECOND = timedelta(seconds=1)

EXPIRED = [NOW, NOW - SECOND, NOW + timedelta(days=1)]
"""The last one was granted by a clock that has gone back."""


@pytest.mark.parametrize("expires_at", EXPIRED)
def test_unstarted_work_returns_and_started_work_is_investigated(expires_at: datetime) -> None:
    decided = {
        status: decide_recovery(LeaseFacts(status, "leased", expires_at, NOW)) for status in attempt.STATES
    }
    expected = dict.fromkeys(attempt.STATES, "resolved")
    assert decided == expected | {
        "claimed": "return_to_queue",
        "starting": "investigate",
        "running": "investigate",
    }


@pytest.mark.parametrize("status", attempt.STATES)
def test_a_live_lease_is_left_alone(status: str) -> None:
    assert decide_recovery(LeaseFacts(status, "leased", NOW + SECOND, NOW)) == "resolved"


@pytest.mark.parametrize("lease_state", ["released", "completed", None])
def test_without_a_lease_only_started_work_is_a_question(lease_state: str | None) -> None:
    expires_at = None if lease_state is None else NOW - SECOND
    assert decide_recovery(LeaseFacts("claimed", lease_state, expires_at, NOW)) == "resolved"
    assert decide_recovery(LeaseFacts("running", lease_state, expires_at, NOW)) == "investigate"


def test_looks_come_further_apart_up_to_five_minutes() -> None:
    assert [next_look_s(failures, 1.0) for failures in (0, 1, 2, 6, 100)] == [5, 10, 20, 300, 300]
    assert next_look_s(100, 0.0) == 150


POLICY = RetryPolicy(max_attempts=3, on_lost=True, safety="idempotent", delays_us=(0, 7))


def waiting(status: str, **changes: object) -> WaitingRun:
    """A run between two tries."""
    facts: dict[str, object] = {
        "cancelled": False,
        "next_attempt_at": NOW if status == "retry_wait" else None,
        "tries": 1,
        "policy": POLICY,
        "now": NOW,
    }
    return WaitingRun(status, **{**facts, **changes})  # type: ignore[arg-type]


WAITING: list[tuple[WaitingRun, RunDecision]] = [
    (waiting("retry_wait"), Requeue()),
    (waiting("retry_wait", next_attempt_at=NOW + SECOND), LEAVE),
    (waiting("retry_wait", cancelled=True), LEAVE),
    (waiting("lost", cancelled=True), LEAVE),
    (waiting("lost"), Retry(0)),
    (waiting("lost", tries=2), Retry(7)),
    (waiting("lost", tries=3), GiveUp("retry_exhausted")),
    (waiting("lost", policy=None), GiveUp("retry_disabled")),
    (waiting("lost", policy=RetryPolicy()), GiveUp("retry_disabled")),
    *((waiting(status), LEAVE) for status in run.STATES if status not in ("lost", "retry_wait")),
]


@pytest.mark.parametrize(("facts", "decision"), WAITING)
def test_runs_between_two_tries(facts: WaitingRun, decision: RunDecision) -> None:
    assert decide_waiting(facts) == decision


def queued(**changes: object) -> QueuedRun:
    """A queued run whose plan is what it was admitted with."""
    facts: dict[str, object] = {
        "status": "queued",
        "cancelled": False,
        "has_attempt": False,
        "plan": "{}",
        "plan_digest": digest_of_text(PLAN_DOMAIN, "{}"),
        "task_digest": digest_of_text(TASK_DOMAIN, "[]"),
        "revision_spec": "[]",
        "revision_digest": digest_of_text(TASK_DOMAIN, "[]"),
    }
    return QueuedRun(**{**facts, **changes})  # type: ignore[arg-type]


ADMISSION = [
    (queued(), "admit"),
    (queued(status="dispatching"), "leave"),
    (queued(cancelled=True), "leave"),
    (queued(has_attempt=True), "leave"),
    (queued(plan='{"argv":["rm"]}'), "digest_mismatch"),
    (queued(revision_spec="[1]"), "digest_mismatch"),
    (queued(task_digest=b"x" * 32), "digest_mismatch"),
    (queued(revision_digest=b"x" * 32), "digest_mismatch"),
]


@pytest.mark.parametrize(("facts", "decision"), ADMISSION)
def test_admission(facts: QueuedRun, decision: str) -> None:
    assert decide_admission(facts) == decision


@pytest.mark.parametrize("status", run.STATES)
@pytest.mark.parametrize("attempt_status", [None, "claimed", "starting", "running"])
def test_convergence_ends_what_nobody_can_be_executing(status: str, attempt_status: str | None) -> None:
    decision = decide_cancellation(CancelledRun(status, True, attempt_status))
    if status in run.TERMINAL:
        assert decision == "leave"
    else:
        assert decision == ("wait" if attempt_status in attempt.STARTED else "settle")
    assert decide_cancellation(CancelledRun(status, False, attempt_status)) == "leave"
