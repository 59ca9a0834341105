"""The routes of the worker protocol: path, message, operation; and the one order of checks before them.

Every call is checked in the same order: request line, route, presence of a credential (before the body),
body, shape, and then everything else inside the database call (credential, session, lease, state).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final, TypeVar
from uuid import UUID

from tenure_contracts import bounds
from tenure_contracts.error import Refusal
from tenure_contracts.identity import IdentityError, Token, parse_uuid
from tenure_contracts.wire.attestation import Attest
from tenure_contracts.wire.codec import decode, encode
from tenure_contracts.wire.completion import Complete
from tenure_contracts.wire.exchange import Exchange
from tenure_contracts.wire.lease import ListLeases, Renew, Running, StartFailure, Starting
from tenure_contracts.wire.offer import Decline, Pull
from tenure_contracts.wire.session import Drain, Heartbeat, Offline, Register
from tenure_http import Admit, Head, Match, Request, Response, Route, Router
from tenure_http.probe import Readiness
from tenure_ingress.credential import check_present, read_token
from tenure_ingress.operation import activation, attestation, completion, holding, offer, renewal, session
from tenure_ingress.operation.exchange import exchange
from tenure_ingress.operation.service import Service
from tenure_ingress.repository.caller import Caller
from tenure_process.shield import refusals

M = TypeVar("M")
Operation = Callable[[Service, Caller, M], Awaitable[object]]

NOT_YET: Final = ("secrets", "logs")
"""Calls of the protocol that this version does not offer: 501, so that a worker can tell."""


def admission(service: Service, readiness: Readiness) -> Admit:
    """What decides about a request before its body: the process's state, the route, a credential at all."""
    router = Router(_routes(service))

    def admit(head: Head) -> Match:
        readiness.check()
        match = router(head)
        check_present(head)
        return match

    return admit


def _routes(service: Service) -> list[Route]:
    return [
        _route("register", Register, _by_token(service, session.register)),
        _route("heartbeat", Heartbeat, _touch(service, "heartbeat")),
        _route("drain", Drain, _touch(service, "drain")),
        _route("offline", Offline, _touch(service, "offline")),
        _route("offers", Pull, _of_session(service, offer.pull)),
        _route("decline", Decline, _of_session(service, offer.decline)),
        _route("starting", Starting, _of_session(service, activation.starting)),
        _route("running", Running, _of_session(service, activation.running)),
        _route("start-failure", StartFailure, _of_session(service, activation.start_failure)),
        _route("renew", Renew, _of_session(service, renewal.renew)),
        _route("complete", Complete, _of_session(service, completion.complete), bounds.COMPLETION_BYTES),
        _route("attest", Attest, _by_token(service, attestation.attest), bounds.COMPLETION_BYTES),
        _route("leases", ListLeases, _of_session(service, holding.leases)),
        _route("exchange", Exchange, _of_session(service, exchange), bounds.EXCHANGE_BYTES),
        *(Route(name, "POST", _path(name), _not_available, bounds.EXCHANGE_BYTES) for name in NOT_YET),
    ]


def _route(
    name: str,
    message: type[M],
    answer: Callable[[Request, UUID, M], Awaitable[object]],
    body_bytes: int = bounds.REQUEST_BYTES,
) -> Route:
    async def handle(request: Request) -> Response:
        body: Any = decode(request.body, message)
        if body.request_id is not None:  # an exchange need not have one, its items do
            request.adopt_id(str(body.request_id))
        with refusals():
            return Response(200, encode(await answer(request, _session(request), body)))

    return Route(name, "POST", _path(name), handle, body_bytes)


def _path(name: str) -> str:
    return f"/v1/sessions/{{session}}/{name}"


def _session(request: Request) -> UUID:
    try:
        return parse_uuid(request.parameters["session"], "session")
    except IdentityError as error:
        raise Refusal("invalid_field", f"The session in the path: {error}") from error


def _by_token(
    service: Service, operation: Callable[[Service, Token, UUID, M], Awaitable[object]]
) -> Callable[[Request, UUID, M], Awaitable[object]]:
    async def answer(request: Request, of: UUID, message: M) -> object:
        return await operation(service, read_token(request.head), of, message)

    return answer


def _touch(service: Service, name: Any) -> Callable[[Request, UUID, Any], Awaitable[object]]:
    async def answer(request: Request, of: UUID, message: Any) -> object:
        return await session.touch(service, _caller(request, of, message), name)

    return answer


def _of_session(service: Service, operation: Operation[M]) -> Callable[[Request, UUID, M], Awaitable[object]]:
    async def answer(request: Request, of: UUID, message: M) -> object:
        return await operation(service, _caller(request, of, message), message)

    return answer


def _caller(request: Request, of: UUID, message: Any) -> Caller:
    return Caller(read_token(request.head), of, message.generation)


async def _not_available(request: Request) -> Response:
    raise Refusal("not_available", f"{request.route} is not offered by this version.")
