"""Cancels a run: the intent is durable at once; the run ends when nobody can be executing it any more."""

from __future__ import annotations

from uuid import UUID

from tenure_contracts.error import Refusal
from tenure_contracts.event import operator_actor
from tenure_contracts.operator.page import Noted
from tenure_contracts.wire.codec import decode
from tenure_control.operator.answer import answer
from tenure_control.operator.gate import check, demand, named
from tenure_control.operator.run import no_run, run_id
from tenure_control.operator.surface import Surface
from tenure_control.operator.view import run_of
from tenure_control.repository.access.audit import record
from tenure_control.repository.access.caller import Demand, admit_caller
from tenure_control.repository.intent.intent import lock_run, request_cancel
from tenure_control.repository.view.runs import show_runs
from tenure_http import Request, Response
from tenure_postgres.database import Connection, Row


async def cancel(surface: Surface, request: Request) -> Response:
    """Ask for the end of a run; the run as it is then. Asked for again, the first request stands."""
    project, run = named(request, "project"), run_id(request)
    needed = demand(request, "operator", project)
    await check(surface, needed)
    body = decode(request.body, Noted)
    request.adopt_id(str(body.request_id))

    async def unit(connection: Connection) -> Row:
        return await _cancel(connection, needed, project, run, body)

    row = await surface.database.transact(unit)
    surface.wake()
    return answer(run_of(row))


async def _cancel(connection: Connection, needed: Demand, project: str, run: UUID, body: Noted) -> Row:
    operator = await admit_caller(connection, needed)
    locked = await lock_run(connection, project, run)
    if locked is None:
        raise no_run(project, str(run))
    target, detail = f"project:{project}/run:{run}", {"note": body.note}
    if await record(connection, operator, "cancel", target, request_id=body.request_id, detail=detail):
        if locked.ended:
            raise Refusal("state_conflict", f"Run {run} has ended: it is {locked.status}.")
        await request_cancel(connection, run, operator_actor(operator), "user")
    return (await show_runs(connection, project, [run]))[run]
