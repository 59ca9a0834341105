"""A whole directory of definitions: validated all, shown as a difference, applied as one transaction."""

from __future__ import annotations

from functools import partial

import trio

from tenure_contracts.error import Refusal
from tenure_contracts.operator.definition import Applied, Apply, Change
from tenure_contracts.wire.codec import decode
from tenure_control.decision.publication import Decision, Publication
from tenure_control.operator.answer import answer
from tenure_control.operator.gate import demand
from tenure_control.operator.publication import preview, publish
from tenure_control.operator.reading import read_definitions, refuse_duplicate_keys
from tenure_control.operator.surface import Surface
from tenure_control.repository.access.caller import Demand, Role, identify
from tenure_http import Request, Response


async def apply(surface: Surface, request: Request) -> Response:
    """Publish the tasks and triggers of one project. A dry run needs to see the project only."""
    anybody = demand(request, "viewer")
    await surface.database.fetch(partial(identify, token=anybody.token))
    body, wanted = await trio.to_thread.run_sync(_read, request.body)
    role: Role = "viewer" if body.dry_run else "admin"
    needed = Demand(anybody.token, role, body.project, creates=True)
    if body.dry_run:
        decision = await preview(surface.database, needed, wanted)
    else:
        decision = await surface.database.transact(partial(publish, needed=needed, wanted=wanted))
        if decision.changes_anything:
            surface.wake()
    return answer(Applied(changes=_changes(decision), dry_run=body.dry_run))


def _read(body: bytes) -> tuple[Apply, Publication]:
    request = decode(body, Apply)
    if request.prune:
        raise Refusal("not_available", "`prune` is not available yet.")
    refuse_duplicate_keys(body)
    return request, read_definitions(request.project, request.definitions)


def _changes(decision: Decision) -> list[Change]:
    tasks = [
        Change(kind="task", name=each.task.name, change=each.change, revision=each.revision, diff=each.diff)
        for each in decision.tasks
    ]
    return tasks + [
        Change(
            kind="trigger", name=each.trigger.name, change=each.change, revision=each.revision, diff=each.diff
        )
        for each in decision.triggers
    ]
