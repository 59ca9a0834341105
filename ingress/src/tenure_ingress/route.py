"""The routes of the worker protocol, and the one order of checks before an operation.

Every call is checked in the same order: request line, route, the budget of failed authentications and the
form of the token (before the body), body, shape, and then everything else inside the database call
(credential, session, lease, state).
"""

from __future__ import annotations

from typing import Any
from uuid import UUID

from tenure_contracts.error import Refusal
from tenure_contracts.identity import IdentityError, parse_uuid
from tenure_contracts.wire.codec import decode, encode
from tenure_http import Admit, Head, Match, Request, Response, Route, Router
from tenure_http.probe import Readiness
from tenure_ingress.call import CALLS, Call, Operation
from tenure_ingress.credential import Guard, read_token
from tenure_ingress.operation.service import Service
from tenure_process.shield import refusals


def admission(service: Service, readiness: Readiness, guard: Guard) -> Admit:
    """What decides about a request before its body: the process's state, the route, the guard."""
    router = Router(_route(service, guard, call) for call in CALLS)

    def admit(head: Head) -> Match:
        readiness.check()
        match = router(head)
        guard.admit(head)
        return match

    return admit


def _route(service: Service, guard: Guard, call: Call[Any, Any]) -> Route:
    if call.operation is None:
        return Route(call.name, "POST", call.path, _not_available, call.body_bytes)
    operation: Operation[Any, Any] = call.operation

    async def handle(request: Request) -> Response:
        body = decode(request.body, call.message)
        if body.request_id is not None:  # an exchange need not have one, its items do
            request.adopt_id(str(body.request_id))
        token = read_token(request.head)
        try:
            with refusals():
                answer = await operation(service, token, _session(request), body, request.waiting)
        except Refusal as refusal:
            guard.hear(request.head, token, refusal)
            raise
        guard.hear(request.head, token, answer)
        return Response(200, encode(answer))

    return Route(call.name, "POST", call.path, handle, call.body_bytes)


def _session(request: Request) -> UUID:
    try:
        return parse_uuid(request.parameters["session"], "session")
    except IdentityError as error:
        raise Refusal("invalid_field", f"The session in the path: {error}") from error


async def _not_available(request: Request) -> Response:
    raise Refusal("not_available", f"{request.route} is not offered by this version.")
