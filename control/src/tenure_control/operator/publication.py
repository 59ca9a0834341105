"""Publishing: look, decide, and, when something changes, lock, look and decide again, and write."""

from __future__ import annotations

from tenure_contracts.definition import DefinitionErrors
from tenure_contracts.error import Refusal
from tenure_control.decision.publication import Current, Decision, Publication, decide_publication
from tenure_control.operator.reading import invalid
from tenure_control.repository.access.audit import record
from tenure_control.repository.access.caller import EVERY_PROJECT, Demand, admit_caller
from tenure_control.repository.definition.project import read_clock
from tenure_control.repository.definition.publish import (
    lock_publication,
    read_current,
    write_tasks,
    write_triggers,
)
from tenure_postgres.database import Connection, Database


async def preview(database: Database, needed: Demand, wanted: Publication) -> Decision:
    """What a publication would change; nothing is locked or written."""

    async def unit(connection: Connection) -> Decision:
        await admit_caller(connection, needed)
        return decide(wanted, await read_current(connection, wanted))

    return await database.fetch(unit)


async def publish(
    connection: Connection, needed: Demand, wanted: Publication, if_match: int | None = None
) -> Decision:
    """Publish in the caller's transaction. Raises Refusal; then nothing of it happens.

    What is current already is not written again, and not audited: repeating a publication changes nothing,
    also when its `if_match` names the revision from before. A new project needs a role in every project.
    """
    operator = await admit_caller(connection, needed)
    seen = await read_current(connection, wanted)
    decision = decide(wanted, seen)
    if seen.project_state is None:
        await admit_caller(connection, Demand(needed.token, needed.role, EVERY_PROJECT))
    elif not decision.changes_anything:
        return decision
    await record(connection, operator, "publish", f"project:{wanted.project}", detail=_summary(decision))
    await lock_publication(connection, wanted)
    current = await read_current(connection, wanted)
    decision = decide(wanted, current)
    _check_match(wanted, current, decision, if_match)
    now = await read_clock(connection)
    await write_tasks(connection, wanted.project, decision.tasks, operator, now)
    await write_triggers(connection, wanted.project, decision.triggers, operator, now)
    return decision


def decide(wanted: Publication, current: Current) -> Decision:
    """`decide_publication` with its faults as a refusal."""
    try:
        return decide_publication(wanted, current)
    except DefinitionErrors as faults:
        raise invalid(faults) from faults


def _check_match(wanted: Publication, current: Current, decision: Decision, if_match: int | None) -> None:
    if if_match is None or not decision.changes_anything:
        return
    known = current.tasks if wanted.tasks else current.triggers
    name = (wanted.tasks or wanted.triggers)[0].name
    revision = known[name].revision if name in known else 0
    if revision != if_match:
        raise Refusal(
            "revision_conflict",
            f"The current revision is {revision}, not {if_match}.",
            current_revision=revision,
        )


def _summary(decision: Decision) -> dict[str, object]:
    return {
        "tasks": {each.task.name: each.revision for each in decision.tasks if each.change != "none"},
        "triggers": {each.trigger.name: each.revision for each in decision.triggers if each.change != "none"},
    }
