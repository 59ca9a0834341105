"""`tenure run`: start, show, list and wait for runs."""

from __future__ import annotations

import json
import textwrap
import time
import uuid
from typing import Any

import click

from tenure import output
from tenure.client import Operator, path, present
from tenure.command import option
from tenure.exit import Stop
from tenure_process.exit import ExitCode

TERMINAL = ("succeeded", "failed", "cancelled", "timed_out")
COLUMNS = ("run", "task", "status", "attempts", "created_at", "attention")
ATTEMPT_COLUMNS = ("number", "status", "worker", "lease_generation", "exit_code", "started_at", "error")
POLL_S = 0.5

EXPLANATIONS = {
    "waiting_for_evidence": "It was started and its worker fell silent. A lease that ran out does not prove "
    "that the process stopped, so it is not run again until somebody proves what became of it.",
    "no_worker_matches": "No worker that is online matches the task's placement.",
    "declined": "Many workers declined it.",
    "held": "It is quarantined: an operator has to decide.",
    "waiting_for_slot": "Its concurrency limit is reached.",
}


@click.group()
def command() -> None:
    """Start runs and see what became of them."""


@command.command()
@option.project
@click.option("--task", required=True, metavar="T", help="The task to run.")
@click.option("--input", "input_", metavar="JSON", default="{}", help="The input, as JSON.")
@click.option("--key", metavar="KEY", help="Idempotency key: the same key and content is the same run.")
@click.option("--priority", type=click.IntRange(0, 9), help="Instead of the task's own.")
@option.operator
@option.as_json
def start(
    project: str,
    task: str,
    input_: str,
    key: str | None,
    priority: int | None,
    control_url: str | None,
    operator_token: str | None,
    json_: bool,
) -> None:
    """Start a run by hand.

    \b
    Example:
      tenure run start --project demo --task count-words --input '{"folder": "docs"}'
    """
    body = {
        "task": task,
        "input": _parse(input_),
        "idempotency_key": key or str(uuid.uuid4()),
        **present({"priority": priority}),
    }
    with Operator(control_url, operator_token) as operator:
        run = operator.post(path("projects", project, "runs"), body)
    output.show_json(run) if json_ else output.say(run["run"])


@command.command()
@option.project
@click.argument("run")
@option.operator
@option.as_json
def show(project: str, run: str, control_url: str | None, operator_token: str | None, json_: bool) -> None:
    """Show a run, its attempts with the end of their output, and what it waits for.

    \b
    Example:
      tenure run show --project demo RUN        # RUN: an id, as `run list` shows it
    """
    with Operator(control_url, operator_token) as operator:
        view = operator.get(path("projects", project, "runs", run))
        if json_:
            output.show_json(view)
            return
        attempts = list(operator.pages(f"{path('projects', project, 'runs', run)}/attempts"))
    output.show_fields({name: value for name, value in view.items() if name != "replayed"})
    if explanation := EXPLANATIONS.get(view.get("attention") or ""):
        output.say(f"\n{textwrap.fill(explanation, 78)}")
    if attempts:
        output.say()
        output.show_table(ATTEMPT_COLUMNS, attempts)
    for attempt in attempts:
        _show_output(attempt)


def _show_output(attempt: dict[str, Any]) -> None:
    """The end of what an attempt printed, as it was, indented."""
    if tail := ((attempt["log"] or {}).get("tail") or "").rstrip():
        output.say(f"\noutput of attempt {attempt['number']}:\n{textwrap.indent(tail, '  ')}")


@command.command("list")
@option.project
@click.option("--status", metavar="S", help="Only runs with this status.")
@click.option("--task", metavar="T", help="Only runs of this task.")
@click.option("--trigger", metavar="T", help="Only runs of this trigger.")
@click.option("--limit", type=click.IntRange(1, 200), default=32, show_default=True)
@option.operator
@option.as_json
def list_runs(
    project: str,
    status: str | None,
    task: str | None,
    trigger: str | None,
    limit: int,
    control_url: str | None,
    operator_token: str | None,
    json_: bool,
) -> None:
    """List runs, newest first.

    \b
    Example:
      tenure run list --project demo --status running
    """
    with Operator(control_url, operator_token) as operator:
        page = operator.get(
            path("projects", project, "runs"), status=status, task=task, trigger=trigger, limit=limit
        )
    output.show_json(page) if json_ else output.show_table(COLUMNS, page["items"])


@command.command()
@option.project
@click.argument("run")
@option.operator
@option.as_json
def events(project: str, run: str, control_url: str | None, operator_token: str | None, json_: bool) -> None:
    """Show everything that happened to a run, in order.

    \b
    Example:
      tenure run events --project demo RUN
    """
    with Operator(control_url, operator_token) as operator:
        items = list(operator.pages(f"{path('projects', project, 'runs', run)}/events"))
    if json_:
        output.show_json({"items": items, "next": None})
    else:
        output.show_table(("sequence", "at", "type", "actor", "payload"), items)


@command.command()
@option.project
@click.argument("run")
@click.option("--note", default="", metavar="TEXT", help="Why, for the audit.")
@option.operator
@option.as_json
def cancel(
    project: str, run: str, note: str, control_url: str | None, operator_token: str | None, json_: bool
) -> None:
    """Ask for the end of a run. Work that has started is told to stop, and ends when that is known.

    \b
    Example:
      tenure run cancel --project demo RUN --note "wrong day"
    """
    body = {"request_id": str(uuid.uuid4()), "note": note}
    with Operator(control_url, operator_token) as operator:
        view = operator.post(f"{path('projects', project, 'runs', run)}/cancel", body)
    output.show_json(view) if json_ else output.say(f"{run} {view['status']}, cancel requested")


@command.command()
@option.project
@click.argument("run")
@click.option(
    "--timeout", "timeout_s", type=click.FloatRange(min=0), metavar="SECONDS", help="Give up after so long."
)
@option.operator
@option.as_json
def wait(
    project: str,
    run: str,
    timeout_s: float | None,
    control_url: str | None,
    operator_token: str | None,
    json_: bool,
) -> int:
    """Wait until a run has ended. Exits 0 when it succeeded, 1 otherwise.

    \b
    Example:
      tenure run wait --project demo RUN --timeout 60
    """
    until = None if timeout_s is None else time.monotonic() + timeout_s
    with Operator(control_url, operator_token) as operator:
        view = operator.get(path("projects", project, "runs", run))
        while view["status"] not in TERMINAL and (until is None or time.monotonic() < until):
            time.sleep(POLL_S)
            view = operator.get(path("projects", project, "runs", run))
    output.show_json(view) if json_ else output.say(f"{run} {view['status']}")
    if view["status"] not in TERMINAL:
        raise Stop(f"run {run} has not ended within {timeout_s:g} s", ExitCode.FAILED)
    return ExitCode.DONE if view["status"] == "succeeded" else ExitCode.FAILED


def _parse(text: str) -> Any:
    """Strict JSON: what its reader sees is what is sent."""
    try:
        return json.loads(text, object_pairs_hook=_each_once, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        read = text if len(text) <= 80 else f"{text[:80]}…"
        raise Stop(f"--input is not JSON: {error}; it was {read!r}", ExitCode.USAGE) from error


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ValueError("a key stands there twice")
    return members


def _no_number(word: str) -> Any:
    raise ValueError(f"{word} is no JSON number")
