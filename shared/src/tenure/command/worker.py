"""`tenure worker`: run one, enrol one, list them, drain one."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Final

import click

from tenure import output, where
from tenure.client import Operator, path
from tenure.command import credential, option


@click.group()
def command() -> None:
    """Workers execute attempts. They only ever talk outward, to ingress."""


command.add_command(credential.command, "credential")


@command.command()
@click.option("--name", metavar="W", help="The worker's name [TENURE_WORKER_NAME].")
@click.option("--label", "labels", multiple=True, metavar="K=V", help="A label, for placement. Repeatable.")
@click.option("--limit", type=int, metavar="N", help="How many commands at the same time.")
@click.option(
    "--credential-file", type=click.Path(path_type=Path), metavar="F", help="The token, in a file (0600)."
)
@click.option(
    "--journal", type=click.Path(path_type=Path), metavar="DIR", help="Where the worker keeps its journal."
)
@click.option("--adopt", "survivors", flag_value="adopt", help="Leave running commands to the next process.")
@click.option(
    "--stop-survivors", "survivors", flag_value="stop", help="Stop running commands on the way out."
)
@click.option("--drain-budget", metavar="D", help="How long a drain waits for commands, such as 30s.")
@click.option("--ingress-url", metavar="URL", help="Where ingress listens [TENURE_INGRESS_URL].")
def run(**flags: object) -> int:
    """Run a worker in the foreground until a signal ends it.

    The first SIGTERM or SIGINT drains it: no new work, running commands finish. The second one stops them.

    \b
    Example:
      TENURE_WORKER_TOKEN=$(tenure worker enroll w1) tenure worker run --name w1 --label region=eu
    """
    from tenure_worker.command import run_worker

    return run_worker(flags, {**where.from_file(), **os.environ})


@command.command()
@click.argument("worker")
@option.request_id
@option.operator
@option.as_json
def enroll(
    worker: str, request_id: str, control_url: str | None, operator_token: str | None, json_: bool
) -> None:
    """Issue a credential for a worker and print its token, once. Others that it has stay in force.

    \b
    Example:
      (umask 077; tenure worker enroll w1 > w1.token)
    """
    with Operator(control_url, operator_token) as operator:
        answer = operator.post(path("workers", worker, "credentials"), {"request_id": request_id})
    output.show_json(answer) if json_ else output.say(credential.token_of(answer))


@command.command("list")
@option.operator
@option.as_json
def list_workers(control_url: str | None, operator_token: str | None, json_: bool) -> None:
    """List workers and their current sessions.

    \b
    Example:
      tenure worker list
    """
    with Operator(control_url, operator_token) as operator:
        items = list(operator.pages(path("workers")))
    if json_:
        output.show_json({"items": items, "next": None})
    else:
        columns = ("worker", "status", "generation", "leases", "limit", "expires_at", "labels")
        output.show_table(columns, map(_flat, items))


@command.command()
@click.argument("worker")
@option.operator
@option.as_json
def show(worker: str, control_url: str | None, operator_token: str | None, json_: bool) -> None:
    """Show one worker, its current session, and its last sessions.

    \b
    Example:
      tenure worker show w1
    """
    with Operator(control_url, operator_token) as operator:
        view = operator.get(path("workers", worker))
    output.show_json(view) if json_ else _show(view)


@command.command()
@click.argument("worker")
@option.request_id
@option.operator
@option.as_json
def drain(
    worker: str, request_id: str, control_url: str | None, operator_token: str | None, json_: bool
) -> None:
    """Ask a worker to take nothing more. What it runs goes on to its end, and then the worker leaves.

    \b
    Example:
      tenure worker drain w1
    """
    with Operator(control_url, operator_token) as operator:
        view = operator.post(f"{path('workers', worker)}/drain", {"request_id": request_id})
    output.show_json(view) if json_ else _show(view)


SESSION_COLUMNS: Final = (
    *("generation", "session", "status", "registered_at", "seen_at", "ended_at"),
    *("replaced_by", "limit", "agent", "labels"),
)


def _show(worker: dict[str, Any]) -> None:
    output.show_fields(_flat(worker))
    if worker["sessions"]:
        output.say()
        output.show_table(SESSION_COLUMNS, worker["sessions"])


def _flat(worker: dict[str, Any]) -> dict[str, Any]:
    """A worker and its current session in one."""
    session = worker["session"] or {"status": "never seen"}
    return {"worker": worker["worker"], **session}
