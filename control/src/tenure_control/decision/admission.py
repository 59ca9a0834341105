"""Whether a queued run gets an attempt."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tenure_contracts.digest import PLAN_DOMAIN, TASK_DOMAIN, digest_of_text


@dataclass(frozen=True, slots=True)
class QueuedRun:
    """A run under its lock: its own plan, what it pins, and the pinned revision as it is stored."""

    status: str
    cancelled: bool
    has_attempt: bool
    plan: str
    plan_digest: bytes
    task_digest: bytes
    revision_spec: str
    revision_digest: bytes


AdmissionDecision = Literal["admit", "leave", "digest_mismatch"]


def decide_admission(run: QueuedRun) -> AdmissionDecision:
    """Admit, leave to whoever moved it meanwhile, or refuse a plan that is not what was pinned."""
    if run.status != "queued" or run.cancelled or run.has_attempt:
        return "leave"
    stored = (digest_of_text(PLAN_DOMAIN, run.plan), digest_of_text(TASK_DOMAIN, run.revision_spec))
    pinned = (run.plan_digest, run.task_digest)
    return "admit" if stored == pinned and run.revision_digest == run.task_digest else "digest_mismatch"
