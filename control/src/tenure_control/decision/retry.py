"""What becomes of a run between two tries."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from tenure_contracts.policy import GiveUp, Retry, RetryPolicy, decide_retry


@dataclass(frozen=True, slots=True)
class WaitingRun:
    """A run as stored at `now`, under its lock. `tries` counts attempts past the start barrier."""

    status: str
    cancelled: bool
    next_attempt_at: datetime | None
    tries: int
    policy: RetryPolicy | None
    now: datetime


@dataclass(frozen=True, slots=True)
class Requeue:
    """Its time has come: queue it with a fresh attempt."""


@dataclass(frozen=True, slots=True)
class Leave:
    """Somebody else moved it, or its time has not come, or it is to be cancelled."""


RunDecision = Requeue | Leave | Retry | GiveUp

LEAVE: Final = Leave()


def decide_waiting(run: WaitingRun) -> RunDecision:
    """Decide about one run: queue it when due; ask the pinned policy when it was lost."""
    if run.cancelled:
        return LEAVE
    if run.status == "lost":
        return decide_retry(run.policy, "lost", run.tries)
    if run.status == "retry_wait" and run.next_attempt_at is not None and run.next_attempt_at <= run.now:
        return Requeue()
    return LEAVE
