"""Runs that an operator asked for: resolved, then admitted in one transaction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from tenure_contracts.definition import TaskSpec, decode_task_spec
from tenure_contracts.digest import TASK_DOMAIN, digest_of_text
from tenure_contracts.error import Refusal
from tenure_control.decision.render import RenderedPlan
from tenure_postgres.database import Connection
from tenure_postgres.query import folder

QUERIES: Final = folder(__package__)

ADMISSIONS_PER_STATEMENT: Final = 200
"""About 100 ms, far below the statement timeout, on a slow machine too."""


@dataclass(frozen=True, slots=True)
class Asked:
    """One run as it was asked for. `input` is JSON text; None of revision: the current one."""

    task: str
    revision: int | None
    priority: int | None
    key: str
    input: str


@dataclass(frozen=True, slots=True)
class Resolved:
    """What an asked-for run would be. `existing`: the run that its key admitted before, with its plan."""

    known: bool
    revision: int | None
    existing: UUID | None = None
    existing_task: str | None = None
    existing_plan: RenderedPlan | None = None


@dataclass(frozen=True, slots=True)
class Admission:
    """One run to be admitted; the ids are new and used only when the key is."""

    run: UUID
    attempt: UUID
    asked: Asked
    revision: int
    plan: RenderedPlan


@dataclass(frozen=True, slots=True)
class Origin:
    """The trigger that was told to fire, if any."""

    trigger: str | None = None
    revision: int | None = None


MANUAL: Final = Origin()


@dataclass(frozen=True, slots=True)
class Admitted:
    """What became of one admission. `refusal` as `tenure.admit_run` says it."""

    run: UUID | None
    created: bool
    refusal: str | None


async def resolve(connection: Connection, project: str, asked: Sequence[Asked]) -> list[Resolved]:
    """What each of them would be, in order."""
    rows = await connection.fetch(
        QUERIES["resolve"],
        project,
        [each.task for each in asked],
        [each.revision for each in asked],
        [each.key for each in asked],
    )
    return [
        Resolved(
            row["known"],
            row["revision"],
            row["run"],
            row["existing_task"],
            None if row["plan"] is None else RenderedPlan(row["plan"], row["plan_digest"]),
        )
        for row in rows
    ]


async def read_specs(
    connection: Connection, project: str, pins: Sequence[tuple[str, int]]
) -> dict[tuple[str, int], TaskSpec]:
    """The specifications of task revisions, each verified against its digest; what does not exist is missing.

    Raises Refusal `internal_error` for a stored specification that is not what its digest covers.
    """
    rows = await connection.fetch(
        QUERIES["read_revisions"], project, [task for task, _ in pins], [revision for _, revision in pins]
    )
    for row in rows:
        if digest_of_text(TASK_DOMAIN, row["spec"]) != row["digest"]:
            raise Refusal(
                "internal_error", f"Revision {row['revision']} of task {row['task']} has a wrong digest."
            )
    return {(row["task"], row["revision"]): decode_task_spec(row["spec"]) for row in rows}


async def admit(
    connection: Connection, project: str, admissions: Sequence[Admission], actor: str, origin: Origin = MANUAL
) -> list[Admitted]:
    """Admit them, or find what their keys admitted before; answers in the order of the admissions."""
    tasks = sorted({each.asked.task for each in admissions})
    await connection.execute(QUERIES["lock_tasks"], project, tasks)
    # In the order of the keys, so that two submissions with common keys never wait in a circle.
    order = sorted(range(len(admissions)), key=lambda index: admissions[index].asked.key)
    answers: dict[int, Admitted] = {}
    for start in range(0, len(order), ADMISSIONS_PER_STATEMENT):
        part = order[start : start + ADMISSIONS_PER_STATEMENT]
        rows = await _admit_part(connection, project, [admissions[index] for index in part], actor, origin)
        answers |= dict(zip(part, rows, strict=True))
    return [answers[index] for index in range(len(admissions))]


async def _admit_part(
    connection: Connection, project: str, part: Sequence[Admission], actor: str, origin: Origin
) -> list[Admitted]:
    rows = await connection.fetch(
        QUERIES["admit"],
        project,
        [each.run for each in part],
        [each.attempt for each in part],
        [each.asked.task for each in part],
        [each.revision for each in part],
        [each.asked.key for each in part],
        [each.asked.revision for each in part],
        [each.asked.priority for each in part],
        [each.plan.text for each in part],
        [each.plan.digest for each in part],
        [each.asked.input for each in part],
        origin.trigger,
        origin.revision,
        actor,
    )
    by_position = {row["ord"]: Admitted(row["run"], row["created"], row["refusal"]) for row in rows}
    return [by_position[position] for position in range(1, len(part) + 1)]


async def run_of_key(connection: Connection, project: str, key: str) -> UUID | None:
    """The run that an idempotency key admitted, if any."""
    run: UUID | None = await connection.fetchval(QUERIES["find_run_of_key"], project, key)
    return run


async def has_open_run(connection: Connection, project: str, trigger: str) -> bool:
    """Whether a trigger has a run that has not ended. Under the cursor's lock none is being admitted."""
    return bool(await connection.fetchval(QUERIES["has_open_run"], project, trigger))
