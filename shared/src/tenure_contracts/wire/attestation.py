"""Attestations: a worker states that an attempt runs, or that it is not running any more."""

from __future__ import annotations

from typing import Annotated, Literal
from uuid import UUID

import msgspec
from msgspec import Meta

from tenure_contracts.wire.codec import Answer, Report
from tenure_contracts.wire.completion import Error, Outcome, Output
from tenure_contracts.wire.field import ExitCode, Generation, Handle, Instant, Secret43, Sequence, null_json
from tenure_contracts.wire.lease import Stop

Scope = Literal["cgroup", "group", "process", "handler"]
AttestedState = Literal["running", "stopped"]


class AttestedOutcome(Report, frozen=True, kw_only=True):
    """The outcome that a late receipt proves. `output` and `error` as in a completion."""

    outcome: Outcome
    exit_code: ExitCode | None = None
    started_at: Instant | None = None
    finished_at: Instant | None = None
    output: Output = msgspec.field(default_factory=null_json)
    error: Error = msgspec.field(default_factory=null_json)


class Attest(Report, frozen=True, kw_only=True):
    """A statement about one attempt and lease generation, proven with the lease token."""

    request_id: UUID
    attempt: UUID
    offer: UUID
    token: Secret43
    lease_generation: Generation
    sequence: Sequence
    state: AttestedState
    observed_at: Instant
    scope: Scope
    executor_handle: Handle | None = None
    outcome: Annotated[AttestedOutcome | None, Meta(description="Only with the state `stopped`.")] = None

    def __post_init__(self) -> None:
        if self.outcome is not None and self.state == "running":
            raise ValueError("`outcome` belongs to the state `stopped` only")


class AttestedLease(Answer, frozen=True, kw_only=True):
    """The lease under which a running attempt goes on."""

    lease_version: int
    expires_at: Instant


class Attested(Answer, frozen=True, kw_only=True):
    """Answer of attest."""

    status: Literal["recorded", "replayed"]
    sequence: int
    lease: AttestedLease | None = None
    stop: Stop | None = None
    disposition: Literal["stop", "settled"] | None = None
    deadline_at: Instant | None = None
    server_time: Instant
