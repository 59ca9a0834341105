"""Tasks and triggers, one at a time: publish, show, list."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

import trio

from tenure_contracts import bounds
from tenure_contracts.error import Refusal
from tenure_contracts.operator.definition import Published
from tenure_control.decision.publication import Kind, Publication
from tenure_control.operator.answer import answer
from tenure_control.operator.gate import check, demand, named, new_name
from tenure_control.operator.page import after_name, asked_page, page
from tenure_control.operator.publication import publish
from tenure_control.operator.reading import read_task_body, read_trigger_body
from tenure_control.operator.surface import Surface
from tenure_control.operator.view import task_of, trigger_of
from tenure_control.repository.access.caller import admit_caller
from tenure_control.repository.definition import show as stored
from tenure_http import Request, Response
from tenure_postgres.database import Connection, Row

_VIEWS: Final[dict[Kind, Callable[[str, Row], Published]]] = {"task": task_of, "trigger": trigger_of}
_READERS: Final[dict[Kind, Callable[[str, str, bytes], Publication]]] = {
    "task": read_task_body,
    "trigger": read_trigger_body,
}
_MATCH: Final = re.compile(r'"?([0-9]{1,9})"?', re.ASCII)


async def put(surface: Surface, request: Request, kind: Kind) -> Response:
    """Publish a definition: 201 for a new revision, 200 when it is current already."""
    project = named(request, "project")
    needed = demand(request, "admin", project)
    await check(surface, needed)
    name = new_name(request, kind)
    if_match = _if_match(request)
    # Compiling takes milliseconds of pure computing, and the cadences share this thread.
    wanted = await trio.to_thread.run_sync(_READERS[kind], project, name, request.body)

    async def unit(connection: Connection) -> tuple[bool, Row]:
        decision = await publish(connection, needed, wanted, if_match)
        row = await stored.show(connection, kind, project, name)
        assert row is not None
        return decision.changes_anything, row

    changed, row = await surface.database.transact(unit)
    if changed:
        surface.wake()
    return answer(_VIEWS[kind](project, row), 201 if changed else 200, _etag(row))


async def show(surface: Surface, request: Request, kind: Kind) -> Response:
    """A definition at its current revision, or at the one of the path."""
    project, name = named(request, "project"), named(request, kind)
    revision = _revision(request)
    needed = demand(request, "viewer", project)

    async def unit(connection: Connection) -> Row | None:
        await admit_caller(connection, needed)
        return await stored.show(connection, kind, project, name, revision)

    row = await surface.database.fetch(unit)
    if row is None:
        raise Refusal("not_found", f"Project {project} has no such {kind} or revision.")
    return answer(_VIEWS[kind](project, row), 200, _etag(row))


async def show_all(surface: Surface, request: Request, kind: Kind) -> Response:
    """The definitions of a project by name."""
    project = named(request, "project")
    needed = demand(request, "viewer", project)
    asked = asked_page(request)
    after = after_name(asked)

    async def unit(connection: Connection) -> list[Row]:
        await admit_caller(connection, needed)
        return await stored.list_page(connection, kind, project, after, asked.limit + 1)

    rows = await surface.database.fetch(unit)
    return answer(page(rows, asked, "name", lambda row: _VIEWS[kind](project, row)))


def _if_match(request: Request) -> int | None:
    text = request.header("if-match")
    if text is None:
        return None
    match = _MATCH.fullmatch(text.strip())
    if match is None:
        raise Refusal("malformed_request", "If-Match is the number of a revision; 0: there is none yet.")
    return int(match[1])


def _revision(request: Request) -> int | None:
    text = request.parameters.get("revision")
    if text is None:
        return None
    if not text.isascii() or not text.isdigit() or not 1 <= int(text[:12]) <= bounds.GENERATION_MAX:
        raise Refusal("not_found", f"There is no revision {text[:20]!r}.")
    return int(text)


def _etag(row: Row) -> tuple[str, str]:
    return "ETag", f'"{row["revision"]}"'
