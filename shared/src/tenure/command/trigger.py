"""`tenure trigger`: list triggers and their next fire times; pause, resume and fire them."""

from __future__ import annotations

import uuid
from typing import Any

import click

from tenure import output
from tenure.client import Operator, path, present
from tenure.command import option


@click.group()
def command() -> None:
    """Triggers start runs by the clock."""


@command.command("list")
@option.project
@option.operator
@option.as_json
def list_triggers(project: str, control_url: str | None, operator_token: str | None, json_: bool) -> None:
    """List the triggers of a project.

    \b
    Example:
      tenure trigger list --project demo
    """
    with Operator(control_url, operator_token) as operator:
        items = list(operator.pages(path("projects", project, "triggers")))
    if json_:
        output.show_json({"items": items, "next": None})
    else:
        rows = [{**item, "next_fire_at": item["next_fire_at"][:1]} for item in items]
        output.show_table(("name", "revision", "state", "next_fire_at"), rows)


@command.command("next")
@option.project
@click.argument("trigger")
@option.operator
@option.as_json
def next_fires(
    project: str, trigger: str, control_url: str | None, operator_token: str | None, json_: bool
) -> None:
    """Show when a trigger fires next, five times ahead.

    \b
    Example:
      tenure trigger next --project demo every-ten-seconds
    """
    with Operator(control_url, operator_token) as operator:
        view = operator.get(path("projects", project, "triggers", trigger))
    if json_:
        output.show_json(view)
    else:
        for instant in view["next_fire_at"]:
            output.say(instant)
        if not view["next_fire_at"]:
            output.say(f"never: it is {view['state']}")


def _act(action: str, sentence: str) -> None:
    """Add one of the verbs that change a trigger; they differ in their name alone."""
    example = f"\b\nExample:\n  tenure trigger {action} --project demo every-ten-seconds"

    @command.command(action, help=f"{sentence}\n\n{example}")
    @option.project
    @click.argument("trigger")
    @click.option("--note", metavar="TEXT", help="Why; it is kept in the audit.")
    @option.operator
    @option.as_json
    def act(
        project: str,
        trigger: str,
        note: str | None,
        control_url: str | None,
        operator_token: str | None,
        json_: bool,
    ) -> None:
        with Operator(control_url, operator_token) as operator:
            body = present({"request_id": str(uuid.uuid4()), "note": note})
            answer = operator.post(f"{path('projects', project, 'triggers', trigger)}/{action}", body)
        output.show_json(answer) if json_ else output.show_fields(_told(answer))


def _told(answer: dict[str, Any]) -> dict[str, Any]:
    """A trigger is shown without what its definition file says; a fired run as it is."""
    return {name: value for name, value in answer.items() if name not in ("definition", "digest", "kind")}


_act("pause", "Stop a trigger until it is resumed.")
_act("resume", "Let a paused trigger fire again, from its next time on.")
_act("fire", "Start a run of a trigger now.")
