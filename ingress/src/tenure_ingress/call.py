"""The calls of the worker protocol, one row each: what is sent, what is answered, why it may be refused.

Routes are made from this table and so is the OpenAPI document, which therefore cannot disagree.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final, Generic, Literal, TypeAlias, TypeVar
from uuid import UUID

from tenure_contracts import bounds
from tenure_contracts.identity import Token
from tenure_contracts.wire.attestation import Attest, Attested
from tenure_contracts.wire.codec import Answer
from tenure_contracts.wire.completion import Complete, Completed
from tenure_contracts.wire.exchange import Exchange, Exchanged
from tenure_contracts.wire.lease import (
    Activated,
    HeldLeases,
    ListLeases,
    Renew,
    Renewed,
    Running,
    StartFailure,
    Starting,
)
from tenure_contracts.wire.offer import Decline, Declined, Pull, Pulled
from tenure_contracts.wire.session import Drain, Heartbeat, Offline, Register, Registered, SessionAnswer
from tenure_contracts.wire.supply import Logs, LogsStored, Secrets, SecretValues
from tenure_ingress.operation import activation, attestation, completion, holding, offer, renewal, session
from tenure_ingress.operation.exchange import exchange
from tenure_ingress.operation.offer import Waiting
from tenure_ingress.operation.service import Service
from tenure_ingress.repository.caller import Caller

M = TypeVar("M")
A = TypeVar("A", bound=Answer)

Operation: TypeAlias = Callable[[Service, Token, UUID, M, Waiting], Awaitable[A]]

COMMON: Final = (
    "malformed_request",
    "credential_required",
    "credential_refused",
    "unknown_route",
    "method_not_allowed",
    "request_timeout",
    "length_required",
    "content_too_large",
    "uri_too_long",
    "unsupported_media_type",
    "expectation_failed",
    "upgrade_required",
    "header_too_large",
    "too_many_failures",
    "not_available",
    "starting",
    "draining",
    "database_unavailable",
    "overloaded",
)
"""What any call may be refused with before its body is read.

`not_available` is also the answer to a transfer coding that is not `chunked`. A token that has not the form
of one is refused here, one that nobody knows when the database is asked.
"""

READ: Final = ("invalid_json", "unknown_field", "invalid_field", "busy")
"""What any call may be refused with once its body is read."""

_SESSION: Final = ("session_fenced",)
_LEASE: Final = (*_SESSION, "unknown_attempt", "lease_fenced")


@dataclass(frozen=True, slots=True)
class Call(Generic[M, A]):
    """One call. `refusals` are those of its own, beside the ones of every call.

    `operation` None: this version does not offer the call, and says so without reading the body.
    """

    name: str
    message: type[M]
    answer: type[A]
    operation: Operation[M, A] | None
    refusals: tuple[str, ...] = ()
    body_bytes: int = bounds.REQUEST_BYTES

    @property
    def path(self) -> str:
        """The path of its route."""
        return f"/v1/sessions/{{session}}/{self.name}"

    @property
    def codes(self) -> tuple[str, ...]:
        """Every code that it may be refused with."""
        return COMMON if self.operation is None else (*COMMON, *READ, *self.refusals)


def _by_token(operation: Callable[[Service, Token, UUID, M], Awaitable[A]]) -> Operation[M, A]:
    """The operation for whoever has a credential; the session is only named."""

    async def answer(service: Service, token: Token, of: UUID, message: M, _: Waiting) -> A:
        return await operation(service, token, of, message)

    return answer


def _of_session(operation: Callable[[Service, Caller, M], Awaitable[A]]) -> Operation[M, A]:
    """The operation for whoever speaks for a session: the message carries its generation."""

    async def answer(service: Service, token: Token, of: UUID, message: Any, _: Waiting) -> A:
        return await operation(service, Caller(token, of, message.generation), message)

    return answer


async def _pull(service: Service, token: Token, of: UUID, message: Pull, waiting: Waiting) -> Pulled:
    return await offer.pull_or_wait(service, Caller(token, of, message.generation), message, waiting)


def _touch(name: Literal["drain", "offline"]) -> Operation[Any, SessionAnswer]:
    async def operation(service: Service, caller: Caller, message: object) -> SessionAnswer:
        return await session.touch(service, caller, name)

    return _of_session(operation)


CALLS: Final[tuple[Call[Any, Any], ...]] = (
    Call(
        "register",
        Register,
        Registered,
        _by_token(session.register),
        (*_SESSION, "session_conflict", "content_conflict"),
    ),
    Call("heartbeat", Heartbeat, SessionAnswer, _of_session(session.heartbeat), _SESSION),
    Call("drain", Drain, SessionAnswer, _touch("drain"), _SESSION),
    Call("offline", Offline, SessionAnswer, _touch("offline"), _SESSION),
    Call("offers", Pull, Pulled, _pull, _SESSION),
    Call("decline", Decline, Declined, _of_session(offer.decline), _SESSION),
    Call(
        "starting",
        Starting,
        Activated,
        _of_session(activation.starting),
        (*_LEASE, "lease_expired", "stop_requested", "attempt_settled"),
    ),
    Call(
        "running",
        Running,
        Activated,
        _of_session(activation.running),
        (*_LEASE, "lease_not_started", "handle_conflict", "content_conflict", "attempt_settled"),
    ),
    Call(
        "start-failure",
        StartFailure,
        Activated,
        _of_session(activation.start_failure),
        (*_LEASE, "lease_not_started", "already_started", "content_conflict", "attempt_settled"),
    ),
    Call("renew", Renew, Renewed, _of_session(renewal.renew), _SESSION),
    Call(
        "complete",
        Complete,
        Completed,
        _of_session(completion.complete),
        (*_LEASE, "lease_not_started", "content_conflict"),
        bounds.COMPLETION_BYTES,
    ),
    Call(
        "attest",
        Attest,
        Attested,
        _by_token(attestation.attest),
        (*_LEASE, "lease_not_started", "content_conflict", "attestation_conflict"),
        bounds.COMPLETION_BYTES,
    ),
    Call("leases", ListLeases, HeldLeases, _of_session(holding.leases), _SESSION),
    Call(
        "exchange", Exchange, Exchanged, _of_session(exchange), body_bytes=bounds.EXCHANGE_BYTES
    ),  # what a session or an attempt is refused with stands in the items
    Call("secrets", Secrets, SecretValues, None, body_bytes=bounds.EXCHANGE_BYTES),
    Call("logs", Logs, LogsStored, None, body_bytes=bounds.EXCHANGE_BYTES),
)
"""Every call, in the order of a worker's life."""
