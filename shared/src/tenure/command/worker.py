"""`tenure worker`: run one, enrol one, list them."""

from __future__ import annotations

import uuid

import click

from tenure import output
from tenure.client import Operator, path
from tenure.command import option


@click.group()
def command() -> None:
    """Workers execute attempts. They only ever talk outward, to ingress."""


@command.command()
@click.argument("worker")
@option.operator
@option.as_json
def enroll(worker: str, control_url: str | None, operator_token: str | None, json_: bool) -> None:
    """Issue a credential for a worker and print its token, once.

    \b
    Example:
      tenure worker enroll w1 > w1.token && chmod 600 w1.token
    """
    with Operator(control_url, operator_token) as operator:
        answer = operator.post(path("workers", worker, "credentials"), {"request_id": str(uuid.uuid4())})
    output.show_json(answer) if json_ else output.say(answer["token"])


@command.command("list")
@option.operator
@option.as_json
def list_workers(control_url: str | None, operator_token: str | None, json_: bool) -> None:
    """List workers and their current sessions."""
    with Operator(control_url, operator_token) as operator:
        items = list(operator.pages(path("workers")))
    if json_:
        output.show_json({"items": items, "next": None})
    else:
        columns = ("worker", "status", "generation", "limit", "leases", "labels", "expires_at")
        output.show_table(columns, items)


@command.command()
@click.argument("worker")
@option.operator
@option.as_json
def show(worker: str, control_url: str | None, operator_token: str | None, json_: bool) -> None:
    """Show one worker."""
    with Operator(control_url, operator_token) as operator:
        view = operator.get(path("workers", worker))
    output.show_json(view) if json_ else output.show_fields(view)
