"""Leases: the fence, the start barrier and its acknowledgements, renewal, and what a session holds."""

from __future__ import annotations

from typing import Annotated, Literal
from uuid import UUID

import msgspec
from msgspec import Meta

from tenure_contracts import bounds
from tenure_contracts.error import Disposition
from tenure_contracts.wire.codec import Answer, Report, Request
from tenure_contracts.wire.field import Generation, Handle, Instant, Secret43, Version, null_json
from tenure_contracts.wire.session import SessionRequest

StopReason = Literal["user", "timeout", "policy"]


class Fence(Request, frozen=True, kw_only=True):
    """Proof of a lease: attempt, offer, token and generation; the version orders answers only."""

    attempt: UUID
    offer: UUID
    token: Secret43
    lease_generation: Generation
    lease_version: Version


def check_attempts(leases: tuple[Fence, ...]) -> None:
    """Raise ValueError when one request names an attempt twice: it would have two answers."""
    # As numbers, because an id is hashed in Python.
    if len({fence.attempt.int for fence in leases}) != len(leases):
        raise ValueError("`leases` names an attempt twice")


class Stop(Answer, frozen=True, kw_only=True):
    """The holder shall stop the process and report how it went."""

    reason: StopReason
    requested_at: Instant


class StartingBody(Request, frozen=True, kw_only=True):
    """`starting` without the session's generation, as an exchange carries it."""

    request_id: UUID
    lease: Fence


class Starting(StartingBody, frozen=True, kw_only=True):
    """Cross the start barrier: after the answer, and not before, the process may be started."""

    generation: Generation


class RunningBody(StartingBody, frozen=True, kw_only=True):
    """`running` without the session's generation."""

    executor_handle: Handle
    started_at: Instant


class Running(RunningBody, frozen=True, kw_only=True):
    """The process exists."""

    generation: Generation


class StartFailureBody(Report, frozen=True, kw_only=True):
    """`start-failure` without the session's generation. `error` is read by `completion.error_report`."""

    request_id: UUID
    lease: Fence
    error: msgspec.Raw = msgspec.field(default_factory=null_json)


class StartFailure(StartFailureBody, frozen=True, kw_only=True):
    """Proven not spawned."""

    generation: Generation


class Activated(Answer, frozen=True, kw_only=True):
    """Answer of starting, running and start-failure."""

    status: Literal["applied", "replayed"]
    attempt_status: str
    run_status: str
    lease_version: int
    expires_at: Instant | None
    deadline_at: Instant | None = None
    stop: Stop | None = None
    server_time: Instant


class RenewBody(Request, frozen=True, kw_only=True):
    """`renew` without the session's generation."""

    request_id: UUID
    leases: Annotated[tuple[Fence, ...], Meta(min_length=1, max_length=bounds.LEASES_PER_RENEWAL)]

    def __post_init__(self) -> None:
        check_attempts(self.leases)


class Renew(RenewBody, frozen=True, kw_only=True):
    """Extend authority over these attempts."""

    generation: Generation


class RenewedLease(Answer, frozen=True, kw_only=True):
    """What became of one lease of a renewal."""

    attempt: UUID
    status: Literal["renewed", "stop", "terminal", "fenced", "retry"]
    lease_version: int | None = None
    expires_at: Instant | None = None
    late: bool = False
    stop: Stop | None = None
    terminal: str | None = None
    disposition: Disposition | None = None


class Renewed(Answer, frozen=True, kw_only=True):
    """Answer of renew, in the order of the request."""

    leases: tuple[RenewedLease, ...]
    renew_s: float
    drain_requested: bool = False
    server_time: Instant


class ListLeases(SessionRequest, frozen=True, kw_only=True):
    """`leases`: what does this session hold?"""


class HeldLease(Answer, frozen=True, kw_only=True):
    """One lease that the session holds, without its token."""

    attempt: UUID
    run: UUID
    offer: UUID
    lease_generation: int
    lease_version: int
    status: str
    expires_at: Instant
    stop: Stop | None = None


class HeldLeases(Answer, frozen=True, kw_only=True):
    """Answer of leases."""

    leases: tuple[HeldLease, ...]
