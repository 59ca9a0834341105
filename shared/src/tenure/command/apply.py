"""`tenure apply`: publish a folder of definitions, whole or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from tenure import definitions, output
from tenure.client import Operator, Refused, path
from tenure.command import option
from tenure.exit import Stop
from tenure_process.exit import ExitCode


@click.command()
@click.option(
    "-f",
    "--file",
    "source",
    required=True,
    metavar="DIR",
    type=click.Path(path_type=Path, exists=True, readable=False),
    help="A folder of *.yaml and *.toml files, or one file.",
)
@click.option("--dry-run", is_flag=True, help="Show what would change, and change nothing.")
@option.operator
@option.as_json
def command(
    source: Path, dry_run: bool, control_url: str | None, operator_token: str | None, json_: bool
) -> None:
    """Publish the definitions of a folder.

    Everything is validated before anything is applied; each project is applied as one step.

    \b
    Example:
      tenure apply -f docs/demo --dry-run
    """
    try:
        projects = definitions.read(source)
    except definitions.DefinitionFileError as error:
        raise Stop(str(error)) from error
    with Operator(control_url, operator_token) as operator:
        answers = [_apply(operator, project, dry_run=True) for project in projects]
        if not dry_run:
            answers = [_apply(operator, project, dry_run=False) for project in projects]
    if json_:
        output.show_json(answers if len(answers) > 1 else answers[0])
    else:
        output.show_table(("project", "kind", "name", "change"), _rows(projects, answers))
        if dry_run:
            output.say("nothing was applied: this was a dry run")


def _apply(operator: Operator, project: definitions.Project, *, dry_run: bool) -> Any:
    body = {"project": project.name, "definitions": project.definitions, "dry_run": dry_run}
    try:
        return operator.post(path("apply"), body)
    except Refused as refused:
        raise Stop("\n  ".join(_complaints(project, refused)), refused.code or ExitCode.FAILED) from refused


def _complaints(project: definitions.Project, refused: Refused) -> Iterator[str]:
    """What is wrong, each with the file that says it."""
    errors = refused.problem.get("errors") or []
    found = "1 error" if len(errors) == 1 else f"{len(errors)} errors" if errors else str(refused)
    yield f"project {project.name} is refused, nothing of it was applied: {found}"
    for error in errors:
        file = project.origin(error["path"])
        where = f"{file}: " if file else ""
        read = f" (read {error['read']})" if error.get("read") else ""
        yield f"{where}{error['path']}: {error['reason']}{read}"


def _rows(projects: list[definitions.Project], answers: list[Any]) -> Iterator[dict[str, Any]]:
    for project, answer in zip(projects, answers, strict=True):
        for change in answer["changes"]:
            yield {"project": project.name, **change}
