"""Runs as they are shown: lists, one, its events, its attempts."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeAlias
from uuid import UUID

from tenure_contracts.error import Refusal
from tenure_contracts.identity import IdentityError, check_name, parse_uuid
from tenure_contracts.run import STATES
from tenure_contracts.wire.field import Instant
from tenure_control.operator.answer import answer
from tenure_control.operator.gate import demand, named
from tenure_control.operator.page import Asked, after_id, after_number, asked_page, page
from tenure_control.operator.surface import Surface
from tenure_control.operator.view import attempt_of, event_of, run_of
from tenure_control.repository.access.caller import admit_caller
from tenure_control.repository.view import runs as stored
from tenure_control.repository.view.runs import RunFilter
from tenure_http import Request, Response
from tenure_postgres.database import Connection, Row

_Lister: TypeAlias = Callable[[Connection, UUID, int, int], Awaitable[list[Row]]]


async def show_all(surface: Surface, request: Request) -> Response:
    """The runs of a project, newest first."""
    project = named(request, "project")
    needed = demand(request, "viewer", project)
    asked = asked_page(request, "status", "task", "trigger", "since")
    wanted, before = _filter(asked), after_id(asked)

    async def unit(connection: Connection) -> list[Row]:
        await admit_caller(connection, needed)
        return await stored.list_runs(connection, project, wanted, before, asked.limit + 1)

    return answer(page(await surface.database.fetch(unit), asked, "run", run_of))


async def show(surface: Surface, request: Request) -> Response:
    """One run."""
    project, run = named(request, "project"), run_id(request)
    needed = demand(request, "viewer", project)

    async def unit(connection: Connection) -> Row | None:
        await admit_caller(connection, needed)
        return (await stored.show_runs(connection, project, [run])).get(run)

    row = await surface.database.fetch(unit)
    if row is None:
        raise no_run(project, str(run))
    return answer(run_of(row))


async def show_events(surface: Surface, request: Request) -> Response:
    """What happened to a run, in order."""
    asked = asked_page(request)
    return answer(page(await _rows(surface, request, asked, stored.list_events), asked, "sequence", event_of))


async def show_attempts(surface: Surface, request: Request) -> Response:
    """The attempts of a run, in order."""
    asked = asked_page(request)
    return answer(
        page(await _rows(surface, request, asked, stored.list_attempts), asked, "number", attempt_of)
    )


async def _rows(surface: Surface, request: Request, asked: Asked, lister: _Lister) -> list[Row]:
    project, run, after = named(request, "project"), run_id(request), after_number(asked)
    needed = demand(request, "viewer", project)

    async def unit(connection: Connection) -> list[Row]:
        await admit_caller(connection, needed)
        if not await stored.run_exists(connection, project, run):
            raise no_run(project, str(run))
        return await lister(connection, run, after, asked.limit + 1)

    return await surface.database.fetch(unit)


def run_id(request: Request) -> UUID:
    """The run in the path. Raises Refusal `not_found` when it is no id at all."""
    text = request.parameters["run"]
    try:
        return parse_uuid(text, "run")
    except IdentityError as error:
        raise no_run(request.parameters["project"], text[:80]) from error


def no_run(project: str, run: str) -> Refusal:
    """What is answered about a run that the project does not have."""
    return Refusal("not_found", f"Project {project} has no run {run}.")


def _filter(asked: Asked) -> RunFilter:
    filters = asked.filters
    if filters.get("status", STATES[0]) not in STATES:
        raise Refusal("invalid_field", f"status must be one of {', '.join(STATES)}.")
    try:
        since = Instant.parse(filters["since"]) if "since" in filters else None
        for name in ("task", "trigger"):
            check_name(filters.get(name, "any"), name)
    except ValueError as error:
        raise Refusal("invalid_field", str(error)) from error
    return RunFilter(filters.get("status"), filters.get("task"), filters.get("trigger"), since)
