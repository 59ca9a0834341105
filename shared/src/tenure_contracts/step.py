"""The step run: the durable state of one workflow step inside a workflow run.

A step waits as `pending` for what it needs, and the frontier makes it `ready` (a ready epoch: one
admission, one attempt), or skips, cancels or fails it. It is `running` from the *starting*
acknowledgement on; a lease that ends before that keeps the epoch, so the step stays `ready`.

`lost` and `retry_wait` are as in a run, with one difference: a retry makes the step `ready` with a new
epoch, directly from `lost` when the delay is zero. The workflow run itself is never lost.
"""

from __future__ import annotations

from typing import Final

from tenure_contracts.machine import Table, check, edges

STATES: Final = (
    "pending",
    "ready",
    "running",
    "retry_wait",
    "lost",
    "succeeded",
    "failed",
    "skipped",
    "cancelled",
    "timed_out",
)
TERMINAL: Final = frozenset({"succeeded", "failed", "skipped", "cancelled", "timed_out"})

TRANSITIONS: Final[Table] = (
    edges(None, "pending")
    | edges("pending", "ready", "skipped", "cancelled", "failed")
    | edges("ready", "running", "cancelled", "failed")
    | edges("running", "succeeded", "failed", "cancelled", "timed_out", "lost", "retry_wait")
    | edges("lost", "retry_wait", "ready", "failed", "cancelled")
    | edges("retry_wait", "ready", "cancelled", "failed")
)


def check_transition(before: str | None, after: str) -> None:
    """Raise StateError unless a step may go from `before` (None: not there yet) to `after`."""
    check("step", TRANSITIONS, before, after)
