"""Pausing and resuming a trigger, and locking one to fire it now."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal

import msgspec

from tenure_contracts.definition import decode_trigger_spec
from tenure_contracts.event import operator_actor
from tenure_control.repository.definition.project import hold_project, read_clock
from tenure_postgres.database import Connection
from tenure_postgres.query import folder

QUERIES: Final = folder(__package__)

State = Literal["active", "paused"]
EVENTS: Final = {"active": "trigger.resumed", "paused": "trigger.paused"}


@dataclass(frozen=True, slots=True)
class HeldTrigger:
    """A trigger under its locks (project, task head, trigger head, cursor), and what it pins."""

    state: str
    revision: int
    digest: bytes
    spec: str
    task: str
    task_revision: int
    now: datetime


async def hold_trigger(connection: Connection, project: str, trigger: str) -> HeldTrigger | None:
    """Lock a trigger with everything above it in the lock order; None: there is no such trigger."""
    pinned = await connection.fetchrow(QUERIES["show_trigger"], project, trigger, None)
    if pinned is None:
        return None
    await hold_project(connection, project)
    await connection.execute(QUERIES["lock_task_heads"], project, [pinned["task"]])
    await connection.execute(QUERIES["lock_trigger_heads"], project, [trigger])
    await connection.execute(QUERIES["lock_trigger_cursors"], project, [trigger])
    now = await read_clock(connection)
    row = await connection.fetchrow(QUERIES["show_trigger"], project, trigger, None)
    assert row is not None
    return HeldTrigger(
        row["state"], row["revision"], row["digest"], row["spec"], row["task"], row["task_revision"], now
    )


async def set_state(
    connection: Connection,
    project: str,
    trigger: str,
    held: HeldTrigger,
    state: State,
    operator: str,
    note: str,
) -> bool:
    """Pause or resume a held trigger: a claim ends, the schedule ends or begins anew. False: no change."""
    if held.state == state:
        return False
    enabled = decode_trigger_spec(held.spec).enabled
    await connection.execute(QUERIES["set_trigger_state"], project, trigger, state)
    await connection.execute(
        QUERIES["reset_trigger_cursor"],
        project,
        trigger,
        held.now if state == "active" and enabled else None,
        EVENTS[state],
        operator_actor(operator),
        held.now,
        msgspec.json.encode({"note": note} if note else {}).decode(),
    )
    return True
