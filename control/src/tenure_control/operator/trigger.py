"""Triggers: pause, resume, and fire now."""

from __future__ import annotations

from typing import Final

from uuid6 import uuid7

from tenure_contracts.definition import TriggerSpec, decode_trigger_spec
from tenure_contracts.digest import TRIGGER_DOMAIN, digest_of_text
from tenure_contracts.error import Refusal
from tenure_contracts.event import operator_actor
from tenure_contracts.operator.page import Noted
from tenure_contracts.template import TemplateError
from tenure_contracts.wire.codec import decode
from tenure_control.decision.render import render_trigger
from tenure_control.operator.answer import answer
from tenure_control.operator.gate import check, demand, named
from tenure_control.operator.submission import Started, refuse, started_runs
from tenure_control.operator.surface import Surface
from tenure_control.operator.view import trigger_of
from tenure_control.repository.access.audit import record
from tenure_control.repository.access.caller import Demand, admit_caller
from tenure_control.repository.definition import trigger_state as stored
from tenure_control.repository.definition.show import show
from tenure_control.repository.definition.trigger_state import HeldTrigger, State
from tenure_control.repository.submission.admission import (
    Admission,
    Admitted,
    Asked,
    Origin,
    admit,
    has_open_run,
    read_specs,
    run_of_key,
)
from tenure_http import Request, Response
from tenure_postgres.database import Connection, Row

_ACTIONS: Final[dict[State, str]] = {"paused": "pause", "active": "resume"}


async def set_state(surface: Surface, request: Request, state: State) -> Response:
    """Pause or resume. Either ends a claim that a replica holds; a resumed trigger counts from now on."""
    project, name = named(request, "project"), named(request, "trigger")
    needed = demand(request, "operator", project)
    await check(surface, needed)
    body = decode(request.body, Noted)
    request.adopt_id(str(body.request_id))

    async def unit(connection: Connection) -> Row:
        operator = await admit_caller(connection, needed)
        held = await _held(connection, project, name)
        detail = {"note": body.note}
        if await record(
            connection,
            operator,
            _ACTIONS[state],
            _target(project, name),
            request_id=body.request_id,
            detail=detail,
        ):
            await stored.set_state(connection, project, name, held, state, operator, body.note)
        row = await show(connection, "trigger", project, name)
        assert row is not None
        return row

    row = await surface.database.transact(unit)
    surface.wake()
    return answer(trigger_of(project, row))


async def fire(surface: Surface, request: Request) -> Response:
    """Start a run of a trigger now, beside its schedule: 201, or 200 for a replay."""
    project, name = named(request, "project"), named(request, "trigger")
    needed = demand(request, "operator", project)
    await check(surface, needed)
    body = decode(request.body, Noted)
    request.adopt_id(str(body.request_id))

    async def unit(connection: Connection) -> Started:
        return await _fire(connection, needed, name, body)

    started = await surface.database.transact(unit)
    if started.created:
        surface.dispatch()
        surface.wake()
    return answer(started.run, 201 if started.created else 200)


async def _fire(connection: Connection, needed: Demand, name: str, body: Noted) -> Started:
    project, key = needed.project, f"fire:{name}:{body.request_id}"
    operator = await admit_caller(connection, needed)
    held = await _held(connection, project, name)
    is_new = await record(
        connection,
        operator,
        "fire",
        _target(project, name),
        request_id=body.request_id,
        detail={"note": body.note},
    )
    if not is_new:
        # The input of a replay was rendered for another moment: the key alone tells which run it is.
        earlier = Admitted(await run_of_key(connection, project, key), created=False, refusal=None)
        return (await started_runs(connection, project, [earlier]))[0]
    admission = await _admission(connection, project, name, held, key)
    origin = Origin(name, held.revision)
    [outcome] = await admit(connection, project, [admission], operator_actor(operator), origin)
    refuse(outcome, admission.asked, "$")
    return (await started_runs(connection, project, [outcome]))[0]


async def _admission(
    connection: Connection, project: str, name: str, held: HeldTrigger, key: str
) -> Admission:
    spec = _spec(name, held)
    if held.state == "archived":
        raise Refusal("archived", f"Trigger {name} is archived.")
    if spec.overlap != "allow" and await has_open_run(connection, project, name):
        raise Refusal(
            "state_conflict", f"A run of {name} has not ended, and its overlap policy is {spec.overlap}."
        )
    specs = await read_specs(connection, project, [(held.task, held.task_revision)])
    try:
        input_, plan = render_trigger(spec, specs[held.task, held.task_revision], held.now)
    except TemplateError as error:
        raise Refusal("state_conflict", f"The trigger's input does not fill its task: {error}") from error
    return Admission(uuid7(), uuid7(), Asked(held.task, None, None, key, input_), held.task_revision, plan)


def _spec(name: str, held: HeldTrigger) -> TriggerSpec:
    if digest_of_text(TRIGGER_DOMAIN, held.spec) != held.digest:
        raise Refusal("internal_error", f"Revision {held.revision} of trigger {name} has a wrong digest.")
    return decode_trigger_spec(held.spec)


async def _held(connection: Connection, project: str, name: str) -> HeldTrigger:
    held = await stored.hold_trigger(connection, project, name)
    if held is None:
        raise Refusal("not_found", f"Project {project} has no trigger {name}.")
    return held


def _target(project: str, name: str) -> str:
    return f"project:{project}/trigger:{name}"
