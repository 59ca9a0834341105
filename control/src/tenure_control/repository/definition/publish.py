"""Reading what is current, taking its locks, and writing what a publication decided.

Locks follow the one order of the whole system: project, task heads, trigger heads, cursors, each level in the
order of names.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final

import msgspec
from uuid6 import uuid7

from tenure_contracts.digest import canonical_json
from tenure_contracts.event import operator_actor
from tenure_control.decision.publication import (
    Current,
    CurrentTask,
    CurrentTrigger,
    Pin,
    Publication,
    TaskChange,
    TriggerChange,
)
from tenure_control.repository.definition.project import (
    create_project,
    hold_project,
    project_state,
    read_clock,
)
from tenure_postgres.database import Connection
from tenure_postgres.query import folder

QUERIES: Final = folder(__package__)


async def read_current(connection: Connection, wanted: Publication) -> Current:
    """What is stored of everything that a publication names."""
    tasks = await connection.fetch(QUERIES["current_tasks"], wanted.project, wanted.task_names)
    triggers = await connection.fetch(QUERIES["current_triggers"], wanted.project, wanted.trigger_names)
    return Current(
        project_state=await project_state(connection, wanted.project),
        tasks={
            row["task"]: CurrentTask(row["revision"], row["digest"], row["spec"], row["state"])
            for row in tasks
        },
        triggers={
            row["trigger"]: CurrentTrigger(
                row["revision"],
                row["digest"],
                row["spec"],
                row["state"],
                Pin(row["task"], row["task_revision"], row["task_digest"]),
            )
            for row in triggers
        },
    )


async def lock_publication(connection: Connection, wanted: Publication) -> None:
    """Make what is missing (project, heads) and lock everything that a publication names.

    A head without a revision is never seen by others: it is committed together with its first revision.
    """
    if await hold_project(connection, wanted.project) is None:
        await create_project(connection, wanted.project)
        await hold_project(connection, wanted.project)
    now = await read_clock(connection)
    defined = sorted(task.name for task in wanted.tasks)
    await connection.execute(QUERIES["make_task_heads"], wanted.project, defined, now)
    await connection.execute(QUERIES["lock_task_heads"], wanted.project, wanted.task_names)
    await connection.execute(QUERIES["make_trigger_heads"], wanted.project, wanted.trigger_names, now)
    await connection.execute(QUERIES["lock_trigger_heads"], wanted.project, wanted.trigger_names)
    await connection.execute(QUERIES["lock_trigger_cursors"], wanted.project, wanted.trigger_names)


async def write_tasks(
    connection: Connection, project: str, changes: Sequence[TaskChange], operator: str, now: datetime
) -> None:
    """Append the new revisions and move the heads. The caller holds the heads."""
    changed = [each for each in changes if each.change != "none"]
    if not changed:
        return
    names, revisions = [each.task.name for each in changed], [each.revision for each in changed]
    await connection.execute(
        QUERIES["write_task_revisions"],
        project,
        names,
        revisions,
        [each.task.digest for each in changed],
        [each.task.spec_json for each in changed],
        await _classes(connection, changed),
        [each.task.priority for each in changed],
        [each.task.timeout_us for each in changed],
        [msgspec.json.encode(each.task.spec.retry).decode() for each in changed],
        [uuid7() for _ in changed],
        operator,
        now,
    )
    await connection.execute(QUERIES["move_task_heads"], project, names, revisions)


async def write_triggers(
    connection: Connection, project: str, changes: Sequence[TriggerChange], operator: str, now: datetime
) -> None:
    """Append the new revisions, move the heads, begin the schedules anew. The caller holds all of them."""
    changed = [each for each in changes if each.change != "none"]
    if not changed:
        return
    names, revisions = [each.trigger.name for each in changed], [each.revision for each in changed]
    await connection.execute(
        QUERIES["write_trigger_revisions"],
        project,
        names,
        revisions,
        [each.trigger.digest for each in changed],
        [each.trigger.spec_json for each in changed],
        [each.pin.task for each in changed],
        [each.pin.revision for each in changed],
        [each.pin.digest for each in changed],
        [uuid7() for _ in changed],
        operator,
        now,
    )
    await connection.execute(QUERIES["move_trigger_heads"], project, names, revisions)
    await connection.execute(
        QUERIES["put_trigger_cursors"],
        project,
        names,
        revisions,
        [each.trigger.spec.enabled for each in changed],
        [_payload(each) for each in changed],
        now,
        operator_actor(operator),
    )


async def _classes(connection: Connection, changes: Sequence[TaskChange]) -> list[int]:
    # In the order of the digests: making a class takes a table lock, and reading one does not.
    known: dict[bytes, int] = {}
    for task in sorted((each.task for each in changes), key=lambda task: task.placement_digest):
        if task.placement_digest not in known:
            placement = canonical_json(task.placement).decode()
            known[task.placement_digest] = await connection.fetchval(
                QUERIES["placement_class"], task.placement_digest, placement
            )
    return [known[each.task.placement_digest] for each in changes]


def _payload(change: TriggerChange) -> str:
    facts = {
        "revision": change.revision,
        "task": change.pin.task,
        "task_revision": change.pin.revision,
        "enabled": change.trigger.spec.enabled,
    }
    return msgspec.json.encode(facts).decode()
