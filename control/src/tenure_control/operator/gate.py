"""The way in: bearer tokens, roles, and the database's errors as answers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import TypeAlias

from tenure_contracts.error import Refusal
from tenure_contracts.identity import IdentityError, Token, check_name, parse_operator_token
from tenure_control.operator.surface import Surface
from tenure_control.repository.access.caller import EVERY_PROJECT, Demand, Role, admit_caller
from tenure_http import Request, Response
from tenure_process.shield import refusals

Call: TypeAlias = Callable[[Surface, Request], Awaitable[Response]]


async def answered(call: Call, surface: Surface, request: Request) -> Response:
    """Serve one request. Raises Refusal, also for every error of the database that a caller can act on."""
    with refusals():
        return await call(surface, request)


def demand(request: Request, role: Role, project: str = EVERY_PROJECT, *, creates: bool = False) -> Demand:
    """What this request has to prove. Raises Refusal `credential_required` or `credential_refused`."""
    return Demand(_token(request), role, project, creates)


async def check(surface: Surface, needed: Demand) -> str:
    """The operator behind a request, before its body is looked at. Raises Refusal as `admit_caller` does."""
    return await surface.database.fetch(partial(admit_caller, demand=needed))


def named(request: Request, parameter: str) -> str:
    """A name of the path; what is no name names nothing. Raises Refusal `not_found`."""
    value = request.parameters[parameter]
    try:
        return check_name(value, parameter)
    except IdentityError as error:
        raise Refusal("not_found", f"There is no {parameter} {value[:80]!r}.") from error


def new_name(request: Request, parameter: str) -> str:
    """A name of the path that may become one. Raises Refusal `invalid_field` with the grammar."""
    try:
        return check_name(request.parameters[parameter], parameter)
    except IdentityError as error:
        raise Refusal("invalid_field", str(error)) from error


def _token(request: Request) -> Token:
    value = request.header("authorization")
    if value is None:
        raise Refusal("credential_required")
    scheme, _, text = value.partition(" ")
    if scheme.lower() != "bearer":
        raise Refusal("credential_required", "The scheme is Bearer.")
    try:
        return parse_operator_token(text.strip())
    except IdentityError as error:
        raise Refusal("credential_refused") from error
