"""`tenure worker credential`: what workers prove themselves with; listed, rotated and revoked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import click

from tenure import output
from tenure.client import Operator, path
from tenure.command import option
from tenure.exit import Stop
from tenure_process.exit import ExitCode

F = TypeVar("F", bound=Callable[..., Any])


@click.group()
def command() -> None:
    """Credentials are how workers prove who they are. A worker may have several."""


@command.command("list")
@click.argument("worker")
@option.operator
@option.as_json
def list_credentials(worker: str, control_url: str | None, operator_token: str | None, json_: bool) -> None:
    """List the credentials of a worker, never their secrets.

    \b
    Example:
      tenure worker credential list w1
    """
    with Operator(control_url, operator_token) as operator:
        items = list(operator.pages(path("workers", worker, "credentials")))
    if json_:
        output.show_json({"items": items, "next": None})
    else:
        columns = ("credential", "version", "state", "created_at", "first_used_at", "expires_at")
        output.show_table(columns, items)


def _of_one(verb: F) -> F:
    """What a verb about one credential is told."""
    for add in (
        option.as_json,
        option.operator,
        option.request_id,
        click.argument("credential", required=False, metavar="[ID]"),
        click.argument("worker"),
    ):
        verb = add(verb)
    return verb


@command.command()
@_of_one
def rotate(worker: str, credential: str | None, request_id: str, json_: bool, **access: str | None) -> None:
    """Give a credential a new secret and print the token, once. The older secret ends at once.

    ID may be left out when the worker has one active credential. To change a secret without a gap, enroll
    the worker again, let it use the new token, and revoke the older credential.

    \b
    Example:
      (umask 077; tenure worker credential rotate w1 > w1.token)
    """
    answer = _post("rotate", worker, credential, request_id, access)
    output.show_json(answer) if json_ else output.say(token_of(answer))


@command.command()
@_of_one
def revoke(worker: str, credential: str | None, request_id: str, json_: bool, **access: str | None) -> None:
    """End a credential: the next call with it is refused, everywhere. What the worker runs goes on.

    ID may be left out when the worker has one active credential.

    \b
    Example:
      tenure worker credential revoke w1
    """
    answer = _post("revoke", worker, credential, request_id, access)
    output.show_json(answer) if json_ else output.show_fields(answer)


def token_of(answer: dict[str, Any]) -> str:
    """The token that was issued. Raises Stop for a replay, which has none."""
    if "token" in answer:
        return str(answer["token"])
    what = f"version {answer['version']} of credential {answer['credential']}"
    raise Stop(
        f"this request was carried out before: it made {what}, and the token was shown then. "
        "Rotate the credential for another one.",
        ExitCode.FAILED,
    )


def _post(
    verb: str, worker: str, credential: str | None, request_id: str, access: Mapping[str, str | None]
) -> dict[str, Any]:
    with Operator(access["control_url"], access["operator_token"]) as operator:
        chosen = credential or _only_active(operator, worker)
        where = path("workers", worker, "credentials", chosen, verb)
        answer: dict[str, Any] = operator.post(where, {"request_id": request_id})
    return answer


def _only_active(operator: Operator, worker: str) -> str:
    items = operator.pages(path("workers", worker, "credentials"))
    active = [str(item["credential"]) for item in items if item["state"] == "active"]
    if len(active) == 1:
        return active[0]
    has = (
        f"several active credentials: {', '.join(active)}; name one as ID"
        if active
        else "no active credential"
    )
    raise Stop(f"worker {worker} has {has}", ExitCode.USAGE if active else ExitCode.FAILED)
