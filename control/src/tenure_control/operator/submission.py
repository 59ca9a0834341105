"""Starting runs by hand: one, or up to a thousand in one transaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, TypeAlias
from uuid import UUID

import msgspec
import trio
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
from tenure_postgres.database import Connection

Specs: TypeAlias = Mapping[tuple[str, int], TaskSpec]

OWN_KEYS: Final = ("cron:", "fire:", "rerun:")
"""Keys that the system makes itself: somebody else's would take an occurrence away."""


@dataclass(frozen=True, slots=True)
class Started:
    """What became of one asked-for run."""

    run: Run
    created: bool


@dataclass(frozen=True, slots=True)
class _Submission:
    """A submission as it was read: its items, and where each stands in the body."""

    many: bool
    asked: list[Asked]
    paths: list[str]


async def start(surface: Surface, request: Request) -> Response:
    """Admit runs: 201 when at least one is new, 200 when all were admitted before."""
    project = named(request, "project")
    needed = demand(request, "operator", project)
    await check(surface, needed)
    # A thousand inputs are a while of pure computing, and the cadences share this thread.
    submission = await trio.to_thread.run_sync(_read, request.body)
    resolved, specs = await surface.database.fetch(partial(_resolve, project=project, asked=submission.asked))
    admissions = await trio.to_thread.run_sync(_admissions, submission, resolved, specs)
    any_new = any(found.existing is None for found in resolved)
    started = await surface.database.transact(
        partial(_admit, needed=needed, admissions=admissions, paths=submission.paths, any_new=any_new)
    )
    if any_new:
        surface.dispatch()
        surface.wake()
    runs = [each.run for each in started]
    created = any(each.created for each in started)
    return answer(RunsStarted(runs=runs) if submission.many else runs[0], 201 if created else 200)


def _read(body: bytes) -> _Submission:
    submission = decode_submission(body)
    if not isinstance(submission, StartRuns):
        return _Submission(many=False, asked=[_asked(submission, "$")], paths=["$"])
    paths = [f"$.runs[{index}]" for index in range(len(submission.runs))]
    asked = [_asked(item, path) for item, path in zip(submission.runs, paths, strict=True)]
    return _Submission(many=True, asked=asked, paths=paths)


def _asked(item: StartRun, path: str) -> Asked:
    if item.task is None:
        raise Refusal("not_available", f"{path}.workflow: workflows are not available yet.")
    if item.idempotency_key.startswith(OWN_KEYS):
        raise Refusal(
            "invalid_field", f"A key may not begin with {', '.join(OWN_KEYS)} - at `{path}.idempotency_key`"
        )
    text = storable_number_text(bytes(item.input)).decode()
    return Asked(item.task, item.revision, item.priority, item.idempotency_key, text)


async def _resolve(
    connection: Connection, project: str, asked: Sequence[Asked]
) -> tuple[list[Resolved], Specs]:
    resolved = await stored.resolve(connection, project, asked)
    pins = {
        (each.task, found.revision)
        for each, found in zip(asked, resolved, strict=True)
        if found.existing is None and found.revision is not None
    }
    return resolved, await stored.read_specs(connection, project, sorted(pins))


def _admissions(submission: _Submission, resolved: Sequence[Resolved], specs: Specs) -> list[Admission]:
    items = zip(submission.asked, resolved, submission.paths, strict=True)
    return [_admission(asked, found, specs, path) for asked, found, path in items]


def _admission(asked: Asked, found: Resolved, specs: Specs, path: str) -> Admission:
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
    connection: Connection,
    needed: Demand,
    admissions: Sequence[Admission],
    paths: Sequence[str],
    *,
    any_new: bool,
) -> list[Started]:
    operator = await admit_caller(connection, needed)
    if any_new:
        detail = {"tasks": sorted({each.asked.task for each in admissions}), "runs": len(admissions)}
        await record(connection, operator, "start", f"project:{needed.project}", detail=detail)
    admitted = await stored.admit(connection, needed.project, admissions, operator_actor(operator))
    for each, outcome, path in zip(admissions, admitted, paths, strict=True):
        refuse(outcome, each.asked, path)
    if not any_new and any(outcome.created for outcome in admitted):
        # The runs that were seen a moment ago are gone. Nothing may happen without its audit row before it.
        raise Refusal("busy")
    return await started_runs(connection, needed.project, admitted)


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
