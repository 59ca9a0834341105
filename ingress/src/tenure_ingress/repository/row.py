"""What the functions of `ingress_api` answer, as they answer it; a test compares type and statement.

Rows are the driver's records, read by column name; these types are what the checker knows of them.
"""

from __future__ import annotations

from datetime import datetime
from typing import Literal, TypedDict
from uuid import UUID


class AnswersRow(TypedDict):
    """A server that answers; a standby, or one that was told so, is read-only."""

    read_only: bool


class Judged(TypedDict):
    """Every row: the code of a refusal, or None."""

    refusal: str | None


class RecordedRow(TypedDict):
    """Whether a report went into the audit."""

    recorded: bool


class RegisterRow(Judged):
    """A session, and whom it replaced."""

    detail: str | None
    worker: str
    generation: int
    version: int
    status: Literal["online", "draining", "offline", "replaced"]
    expires_at: datetime
    replaced_session: UUID | None
    replaced_generation: int | None
    server_time: datetime


class SessionRow(Judged):
    """A session after drain or offline."""

    generation: int
    version: int
    status: Literal["online", "draining", "offline", "replaced"]
    expires_at: datetime
    drain_requested: bool
    server_time: datetime


_Try = TypedDict("_Try", {"try": int})


class OfferRow(Judged, _Try):
    """Row 0 of a pull has what concerns all of it, the others one answered offer each."""

    ord: int
    none_reason: Literal["no_work", "no_match", "at_limit", "draining"] | None
    classes: list[int]
    classes_seen: int
    drain_requested: bool
    server_time: datetime
    offer: UUID
    outcome: Literal["offered", "recovered", "settled"]
    spawn: bool
    attempt: UUID
    run: UUID
    project: str
    task: str
    revision: int
    digest: bytes
    number: int
    step: str | None
    priority: int
    attempt_status: str
    deadline_at: datetime | None
    lease_generation: int
    lease_version: int
    acquired_at: datetime
    expires_at: datetime
    plan: str
    input: str


DispatchableRow = TypedDict("DispatchableRow", {"class": int, "attempts": int})
"""A placement class with work, and how many attempts it has, up to the limit that was asked for."""


class DeclineRow(Judged):
    """Row 0 has the refusal of the call, the others one lease each."""

    ord: int
    attempt: UUID
    status: Literal["released", "fenced"]
    server_time: datetime


class StopColumns(TypedDict):
    """The stop that stands on a lease."""

    stop_reason: Literal["user", "timeout", "policy"] | None
    stop_requested_at: datetime | None


class Lockable(Judged):
    """One item of a call that takes many. `locked`: its rows are held elsewhere, nothing was decided."""

    ord: int
    locked: bool
    server_time: datetime


class HeartbeatRow(SessionRow, Lockable):
    """A session that was extended."""


class ActivationRow(Lockable, StopColumns):
    """An attempt after starting, running or start-failure."""

    status: Literal["applied", "replayed"]
    attempt_status: str
    run_status: str
    lease_version: int
    expires_at: datetime | None
    deadline_at: datetime | None


class CompletionRow(Lockable):
    """An attempt that ended."""

    status: Literal["applied", "replayed", "settled"]
    late: bool
    output_flag: Literal["too_large", "invalid"] | None
    attempt_status: str
    run_status: str


class AttestationRow(Judged, StopColumns):
    """A statement, and what its maker holds afterwards. No lease version: it holds nothing."""

    last_sequence: int | None
    status: Literal["recorded", "replayed"]
    lease_version: int | None
    expires_at: datetime | None
    deadline_at: datetime | None
    disposition: Literal["stop", "settled"] | None
    server_time: datetime


class HeldLeaseRow(Judged, StopColumns):
    """Row 0 has the refusal of the call, the others one lease each."""

    ord: int
    attempt: UUID
    run: UUID
    offer: UUID
    lease_generation: int
    lease_version: int
    status: str
    expires_at: datetime


class RenewalRow(Lockable, StopColumns):
    """One lease of a renewal."""

    status: Literal["renewed", "stop", "terminal", "fenced"]
    lease_version: int | None
    expires_at: datetime | None
    late: bool
    terminal: str | None
    disposition: Literal["stop", "settled"] | None
    drain_requested: bool
