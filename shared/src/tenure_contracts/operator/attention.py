"""What needs an operator: attestations, quarantine, recovery."""

from __future__ import annotations

from typing import Any, Literal
from uuid import UUID

from tenure_contracts.operator.page import Note, Reason
from tenure_contracts.wire.attestation import AttestedState
from tenure_contracts.wire.codec import Answer, Request
from tenure_contracts.wire.field import Generation, Instant


class AttestAttempt(Request, frozen=True, kw_only=True):
    """State that an attempt stopped, or runs. `force`: although its lease is live."""

    request_id: UUID
    lease_generation: Generation
    state: AttestedState
    note: Reason
    force: bool = False


class AttemptAttested(Answer, frozen=True, kw_only=True):
    """Answer of an operator's attestation."""

    attempt: UUID
    lease_generation: int
    state: AttestedState
    sequence: int
    at: Instant
    replayed: bool = False


class ResolveHold(Request, frozen=True, kw_only=True):
    """Decide about a held candidate."""

    request_id: UUID
    action: Literal["retry", "fail", "cancel"]
    note: Note = ""


class Hold(Answer, frozen=True, kw_only=True):
    """A damaged candidate of one stage."""

    id: int
    stage: str
    candidate: str
    fault: str
    detail: str
    count: int
    held: bool
    first_seen_at: Instant
    last_seen_at: Instant
    resolved_by: str | None = None


class Recovery(Answer, frozen=True, kw_only=True):
    """The investigation of one candidate."""

    id: str
    kind: str
    project: str | None = None
    run: UUID | None = None
    attempt: UUID | None = None
    status: str
    lease_generation: int | None = None
    failure_count: int
    last_answer: str | None = None
    next_claim_at: Instant | None = None


class AuditEvent(Answer, frozen=True, kw_only=True):
    """One row of the security audit."""

    id: int
    at: Instant
    actor: str
    action: str
    target: str
    project: str | None = None
    detail: Any = None


class Readiness(Answer, frozen=True, kw_only=True):
    """Answer of /readyz."""

    status: Literal["ready", "starting", "draining", "degraded", "unavailable"]
    reasons: list[str]
