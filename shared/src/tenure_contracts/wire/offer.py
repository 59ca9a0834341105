"""Offers: pulling work, and giving unstarted work back."""

from __future__ import annotations

from typing import Annotated, Any, Literal
from uuid import UUID

import msgspec
from msgspec import Meta

from tenure_contracts import bounds
from tenure_contracts.plan import Executor, StoredPlan
from tenure_contracts.wire.codec import Answer, Request
from tenure_contracts.wire.field import Generation, Instant, Secret43, null_json
from tenure_contracts.wire.lease import Fence, check_attempts

NoneReason = Literal["no_work", "no_match", "at_limit", "draining"]


class Offer(Request, frozen=True, kw_only=True):
    """An offer that the worker invented: one unit of work may be claimed under this id and token."""

    offer: UUID
    token: Secret43


class PullBody(Request, frozen=True, kw_only=True):
    """`offers` without the session's generation."""

    request_id: UUID
    offers: Annotated[tuple[Offer, ...], Meta(min_length=1, max_length=bounds.OFFERS_PER_PULL)]
    wait_s: Annotated[float, Meta(ge=0, le=bounds.WAIT_S)] = 0.0

    def __post_init__(self) -> None:
        if len({offer.offer for offer in self.offers}) != len(self.offers):
            raise ValueError("`offers` names an offer twice")
        if len({offer.token for offer in self.offers}) != len(self.offers):
            raise ValueError("`offers` uses a token twice")


class Pull(PullBody, frozen=True, kw_only=True):
    """Ask for up to as many attempts as there are offers."""

    generation: Generation


class Plan(Answer, frozen=True, kw_only=True):
    """What to execute. Durations are seconds here."""

    executor: Executor
    argv: tuple[str, ...] | None = None
    env: dict[str, str] = msgspec.field(default_factory=dict)
    cwd: str | None = None
    stdin: str | None = None
    handler: str | None = None
    arguments: Any = None
    timeout_s: float | None = None
    kill_grace_s: float
    stop_on_lost_contact_s: float | None = None
    secrets: tuple[str, ...] = ()
    log_limit_bytes: int


class OfferedAttempt(Answer, frozen=True, kw_only=True):
    """The facts of an offered attempt."""

    attempt: UUID
    run: UUID
    project: str
    task: str
    revision: int
    digest: str
    number: int
    try_: int = msgspec.field(name="try")
    step: str | None = None
    priority: int
    status: str
    deadline_at: Instant | None = None


class OfferedLease(Answer, frozen=True, kw_only=True):
    """The lease of an offered attempt; its token is the worker's own."""

    lease_generation: int
    lease_version: int
    acquired_at: Instant
    expires_at: Instant


class Offered(Answer, frozen=True, kw_only=True):
    """One answered offer. `spawn` false: it was started already, nothing may be started again."""

    offer: UUID
    recovered: bool = False
    spawn: bool = True
    attempt: OfferedAttempt
    lease: OfferedLease
    plan: Plan
    input: msgspec.Raw = msgspec.field(default_factory=null_json)


class Pulled(Answer, frozen=True, kw_only=True):
    """Answer of offers. `none` says why no more came."""

    offered: tuple[Offered, ...] = ()
    settled: tuple[UUID, ...] = ()
    none: NoneReason | None = None
    drain_requested: bool = False
    retry_after_s: float | None = None
    server_time: Instant


class Decline(Request, frozen=True, kw_only=True):
    """Give unstarted leases back."""

    request_id: UUID
    generation: Generation
    leases: Annotated[tuple[Fence, ...], Meta(min_length=1, max_length=bounds.LEASES_PER_RENEWAL)]
    reason: Literal["declined", "shutdown"]

    def __post_init__(self) -> None:
        check_attempts(self.leases)


class DeclinedLease(Answer, frozen=True, kw_only=True):
    """What became of one declined lease."""

    attempt: UUID
    status: Literal["released", "fenced"]


class Declined(Answer, frozen=True, kw_only=True):
    """Answer of decline, in the order of the request."""

    leases: tuple[DeclinedLease, ...]


def plan_of(stored: StoredPlan) -> Plan:
    """The plan as a worker sees it."""
    return Plan(
        executor=stored.executor,
        argv=stored.argv,
        env=stored.env,
        cwd=stored.cwd,
        stdin=stored.stdin,
        handler=stored.handler,
        arguments=stored.arguments,
        timeout_s=_seconds(stored.timeout_us),
        kill_grace_s=stored.kill_grace_us / 1e6,
        stop_on_lost_contact_s=_seconds(stored.stop_on_lost_contact_us),
        secrets=stored.secrets,
        log_limit_bytes=stored.log_limit_bytes,
    )


def _seconds(micro: int | None) -> float | None:
    return None if micro is None else micro / 1e6
