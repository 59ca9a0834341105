"""Starting runs by hand: one, or up to a thousand in one transaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

import msgspec
from uuid6 import uuid7

from tenure_contracts.definition import TaskSpec
from tenure_contracts.error import Refusal
from tenure_contracts.event import operator_actor
from tenure_contracts.operator.run import Run, RunsStarted, StartRun, StartRuns, decode_submission
from tenure_contracts.payload import storable_number_text
from tenure_contracts.template import TemplateError
from tenure_control.decision.render import RenderedPlan, render_run
from tenure_control.operator.answer import answer
from tenure_control.operator.gate import check, demand, named
from tenure_control.operator.surface import Surface
from tenure_control.operator.view import run_of
from tenure_control.repository.access.audit import record
from tenure_control.repository.access.caller import Demand, admit_caller
from tenure_control.repository.submission import admission as stored
from tenure_control.repository.submission.admission import Admission, Admitted, Asked, Resolved
from tenure_control.repository.view.runs import show_runs
from tenure_http import Request, Response
from tenure_postgres.database import Connection, Database

OWN_KEYS: Final = ("cron:", "fire:", "rerun:")
"""Keys that the system makes itself: somebody else's would take an occurrence away."""


@dataclass(frozen=True, slots=True)
class Started:
    """What became of one asked-for run."""

    run: Run
    created: bool


async def start(surface: Surface, request: Request) -> Response:
    """Admit runs: 201 when at least one is new, 200 when all were admitted before."""
    project = named(request, "project")
    needed = demand(request, "operator", project)
    await check(surface, needed)
    submission = decode_submission(request.body)
    items = submission.runs if isinstance(submission, StartRuns) else [submission]
    paths = [f"$.runs[{index}]" for index in range(len(items))] if submission is not items[0] else ["$"]
    asked = [_asked(item, path) for item, path in zip(items, paths, strict=True)]
    admissions = await _prepare(surface.database, needed, asked, paths)
    started = await _admit(surface.database, needed, admissions, paths)
    created = any(each.created for each in started)
    if created:
        surface.dispatch()
        surface.wake()
    runs = [each.run for each in started]
    body = RunsStarted(runs=runs) if isinstance(submission, StartRuns) else runs[0]
    return answer(body, 201 if created else 200)


def _asked(item: StartRun, path: str) -> Asked:
    if item.task is None:
        raise Refusal("not_available", f"{path}.workflow: workflows are not available yet.")
    if item.idempotency_key.startswith(OWN_KEYS):
        raise Refusal(
            "invalid_field", f"A key may not begin with {', '.join(OWN_KEYS)} - at `{path}.idempotency_key`"
        )
    text = storable_number_text(bytes(item.input)).decode()
    return Asked(item.task, item.revision, item.priority, item.idempotency_key, text)


async def _prepare(
    database: Database, needed: Demand, asked: Sequence[Asked], paths: Sequence[str]
) -> list[Admission]:
    """Resolve revisions and render plans, outside of the transaction that admits."""

    async def unit(connection: Connection) -> tuple[list[Resolved], Mapping[tuple[str, int], TaskSpec]]:
        resolved = await stored.resolve(connection, needed.project, asked)
        pins = {
            (each.task, found.revision)
            for each, found in zip(asked, resolved, strict=True)
            if found.existing is None and found.revision is not None
        }
        return resolved, await stored.read_specs(connection, needed.project, sorted(pins))

    resolved, specs = await database.fetch(unit)
    return [
        _admission(each, found, specs, path) for each, found, path in zip(asked, resolved, paths, strict=True)
    ]


def _admission(
    asked: Asked, found: Resolved, specs: Mapping[tuple[str, int], TaskSpec], path: str
) -> Admission:
    if found.existing_task is not None and found.existing_task != asked.task:
        raise conflict(asked.key, path)
    if not found.known or found.revision is None:
        raise Refusal("not_found", f"There is no task {asked.task} - at `{path}.task`")
    plan = found.existing_plan or _plan(asked, specs.get((asked.task, found.revision)), path)
    return Admission(uuid7(), uuid7(), asked, found.revision, plan)


def _plan(asked: Asked, spec: TaskSpec | None, path: str) -> RenderedPlan:
    if spec is None:
        raise Refusal(
            "not_found", f"Task {asked.task} has no revision {asked.revision} - at `{path}.revision`"
        )
    try:
        return render_run(spec, _value(asked.input))
    except TemplateError as error:
        raise Refusal(
            "invalid_field", f"The task's templates need more: {error} - at `{path}.input`"
        ) from error


def _value(text: str) -> Any:
    return msgspec.json.decode(text)


async def _admit(
    database: Database, needed: Demand, admissions: Sequence[Admission], paths: Sequence[str]
) -> list[Started]:
    async def unit(connection: Connection) -> list[Started]:
        operator = await admit_caller(connection, needed)
        detail = {"tasks": sorted({each.asked.task for each in admissions}), "runs": len(admissions)}
        await record(connection, operator, "start", f"project:{needed.project}", detail=detail)
        admitted = await stored.admit(connection, needed.project, admissions, operator_actor(operator))
        for each, outcome, path in zip(admissions, admitted, paths, strict=True):
            refuse(outcome, each.asked, path)
        return await started_runs(connection, needed.project, admitted)

    return await database.transact(unit)


async def started_runs(connection: Connection, project: str, admitted: Sequence[Admitted]) -> list[Started]:
    """The views of admitted runs, in order."""
    ids: list[UUID] = [each.run for each in admitted if each.run is not None]
    rows = await show_runs(connection, project, sorted(set(ids)))
    return [
        Started(run_of(rows[run], replayed=not each.created), each.created)
        for run, each in zip(ids, admitted, strict=True)
    ]


def refuse(outcome: Admitted, asked: Asked, path: str) -> None:
    """Raise what the database refused to admit."""
    match outcome.refusal:
        case None:
            return
        case "content_conflict":
            raise conflict(asked.key, path)
        case "unknown_task":
            raise Refusal("not_found", f"There is no task {asked.task} - at `{path}.task`")
        case refusal:
            what = "The project" if refusal == "project_archived" else f"Task {asked.task}"
            raise Refusal("archived", f"{what} is archived - at `{path}`")


def conflict(key: str, path: str) -> Refusal:
    """The same key with other content."""
    return Refusal(
        "idempotency_conflict",
        f"The key {key[:80]!r} admitted a run with other content - at `{path}.idempotency_key`",
    )
