"""Whether a run with a cancel intent can end now. An intent never claims that a process stopped."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tenure_contracts.attempt import STARTED
from tenure_contracts.run import TERMINAL


@dataclass(frozen=True, slots=True)
class CancelledRun:
    """A run under its lock, and the status of its active attempt, if any."""

    status: str
    cancelled: bool
    attempt_status: str | None


CancellationDecision = Literal["settle", "wait", "leave"]


def decide_cancellation(run: CancelledRun) -> CancellationDecision:
    """Settle what nobody can be executing; wait for the worker of what started."""
    if run.status in TERMINAL or not run.cancelled:
        return "leave"
    return "wait" if run.attempt_status in STARTED else "settle"
