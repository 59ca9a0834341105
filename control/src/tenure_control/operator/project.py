"""Projects."""

from __future__ import annotations

from tenure_contracts.error import Refusal
from tenure_contracts.operator.definition import Project, PutProject
from tenure_contracts.wire.codec import decode
from tenure_control.operator.answer import answer
from tenure_control.operator.gate import check, demand, named, new_name
from tenure_control.operator.page import after_name, asked_page, page
from tenure_control.operator.surface import Surface
from tenure_control.operator.view import project_of
from tenure_control.repository.access.audit import record
from tenure_control.repository.access.caller import Demand, admit_caller, identify
from tenure_control.repository.definition import project as stored
from tenure_http import Request, Response
from tenure_postgres.database import Connection, Row


async def put(surface: Surface, request: Request) -> Response:
    """Make a project, or change its share."""
    needed = demand(request, "admin")
    await check(surface, needed)
    name = new_name(request, "project")
    wanted = decode(request.body, PutProject)

    async def unit(connection: Connection) -> tuple[bool, Project]:
        created = await _put(connection, needed, name, wanted.weight)
        row = await stored.read_project(connection, name)
        assert row is not None
        return created, project_of(row)

    created, view = await surface.database.transact(unit)
    return answer(view, 201 if created else 200)


async def show(surface: Surface, request: Request) -> Response:
    """One project."""
    name = named(request, "project")
    needed = demand(request, "viewer", name)

    async def unit(connection: Connection) -> Row | None:
        await admit_caller(connection, needed)
        return await stored.read_project(connection, name)

    row = await surface.database.fetch(unit)
    if row is None:
        raise Refusal("not_found", f"There is no project {name}.")
    return answer(project_of(row))


async def show_all(surface: Surface, request: Request) -> Response:
    """The projects in which the caller has a role."""
    needed = demand(request, "viewer")
    asked = asked_page(request)
    after = after_name(asked)

    async def unit(connection: Connection) -> list[Row]:
        operator = await identify(connection, needed.token)
        return await stored.list_projects(connection, operator, after, asked.limit + 1)

    return answer(page(await surface.database.fetch(unit), asked, "project", project_of))


async def _put(connection: Connection, needed: Demand, name: str, weight: int) -> bool:
    operator = await admit_caller(connection, needed)
    held = await stored.take_project(connection, name)
    if held is not None and held["state"] == "archived":
        raise Refusal("archived", f"Project {name} is archived.")
    if held is not None and held["weight"] == weight:
        return False
    await record(connection, operator, "put_project", f"project:{name}", detail={"weight": weight})
    if held is None:
        return await stored.create_project(connection, name, weight)
    await stored.weigh_project(connection, name, weight)
    return False
