"""Sessions: register, heartbeat, drain, offline."""

from __future__ import annotations

from typing import Annotated, Literal
from uuid import UUID

import msgspec
from msgspec import Meta

from tenure_contracts import bounds
from tenure_contracts.plan import Executor
from tenure_contracts.wire.codec import Answer, Request
from tenure_contracts.wire.field import Agent, Generation, HandlerName, Instant, Labels

SessionStatus = Literal["online", "draining", "offline", "replaced"]


class Register(Request, frozen=True, kw_only=True):
    """Create or replay the session of the path. `limit` is how many leases it may hold."""

    request_id: UUID
    labels: Labels = msgspec.field(default_factory=dict)
    executors: Annotated[
        tuple[Executor, ...], Meta(min_length=1, max_length=2, extra_json_schema={"uniqueItems": True})
    ]
    handlers: Annotated[
        tuple[HandlerName, ...],
        Meta(max_length=bounds.HANDLERS, extra_json_schema={"uniqueItems": True}),
    ] = ()
    limit: Annotated[int, Meta(ge=1, le=bounds.SESSION_LIMIT)]
    session_lease_s: Annotated[float, Meta(ge=bounds.SESSION_LEASE_S_MIN, le=bounds.SESSION_LEASE_S_MAX)] = (
        bounds.SESSION_LEASE_S
    )
    takeover: bool = False
    agent: Agent = ""

    def __post_init__(self) -> None:
        for what, words in (("executors", self.executors), ("handlers", self.handlers)):
            if len(set(words)) != len(words):
                raise ValueError(f"`{what}` names something twice")


class Replaced(Answer, frozen=True, kw_only=True):
    """The session of the same worker that this registration ended."""

    session: UUID
    generation: int


class Advice(Answer, frozen=True, kw_only=True):
    """The pace the server wishes, in seconds."""

    heartbeat_s: float
    renew_s: float
    lease_s: float


class Registered(Answer, frozen=True, kw_only=True):
    """Answer of register."""

    worker: str
    generation: int
    version: int
    status: SessionStatus
    expires_at: Instant
    server_time: Instant
    replaced: Replaced | None = None
    advice: Advice


class SessionRequest(Request, frozen=True, kw_only=True):
    """What heartbeat, drain, offline and leases all send."""

    request_id: UUID
    generation: Generation


class Heartbeat(SessionRequest, frozen=True, kw_only=True):
    """Extend the session."""


class Drain(SessionRequest, frozen=True, kw_only=True):
    """Take no more work."""


class Offline(SessionRequest, frozen=True, kw_only=True):
    """End the session and give back what is unstarted."""


class SessionAnswer(Answer, frozen=True, kw_only=True):
    """Answer of heartbeat, drain and offline."""

    generation: int
    version: int
    status: SessionStatus
    expires_at: Instant
    server_time: Instant
    advice: Advice
    drain_requested: bool = False
