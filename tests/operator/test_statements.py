"""Every statement of the operator's side, as the role that sends it; and all calls against each other."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from uuid import uuid4

import pytest
import trio

from tenure_control.repository import access, credential, definition, intent, session, submission, view
from tenure_postgres import query
from tests.harness import ScratchDatabase
from tests.harness.operator import Answer, OperatorApi, open_operator
from tests.operator.conftest import REPORT, SHOP

PACKAGES = [
    package.__name__ for package in (access, credential, definition, intent, session, submission, view)
]
AS_OWNER = {"enrol_operator"}


@pytest.mark.parametrize("package", PACKAGES)
async def test_the_operator_role_may_send_every_statement(database: ScratchDatabase, package: str) -> None:
    async with database.session("tenure_operator") as session:
        for name, statement in query.folder(package).items():
            if name not in AS_OWNER:
                # Privileges are asked for when a plan is made, which PREPARE leaves to the first use.
                await session.execute(f"PREPARE {name} AS {statement}")
                nulls = ", ".join(["NULL"] * statement_parameters(statement))
                await session.execute(f"EXPLAIN EXECUTE {name}" + (f"({nulls})" if nulls else ""))


def statement_parameters(statement: str) -> int:
    """How many parameters a statement has."""
    return max((number for number in range(1, 30) if f"${number}" in statement), default=0)


async def test_all_calls_at_once_do_not_deadlock(
    database: ScratchDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The victim of a deadlock, not tried again, would be `busy`; a wait may take as long as it takes."""
    monkeypatch.setattr("tenure_postgres.database.PAUSES_S", ())
    database.execute(f"ALTER DATABASE {database.name} SET deadlock_timeout = '50ms'")
    for setting in ("lock_timeout", "statement_timeout"):
        database.execute(f"ALTER ROLE tenure_operator IN DATABASE {database.name} SET {setting} = '60s'")
    async with open_operator(database, size=8) as api:
        await api.owner.put(SHOP, {})
        answers = await _everything_at_once(api)
    assert {answer.code for answer in answers if answer.status >= 300} == set()
    assert len(answers) == 96


async def _everything_at_once(api: OperatorApi) -> list[Answer]:
    nightly = {"task": "report", "cron": "@daily", "timezone": "UTC", "input": {"day": "x"}}
    definitions = {"tasks": {"report": REPORT, "hello": REPORT}, "triggers": {"nightly": nightly}}
    await api.owner.post("/v1/apply", {"project": "shop", "definitions": definitions})
    answers: list[Answer] = []

    async def publish(turn: int) -> Answer:
        tasks = {"report": {**REPORT, "priority": turn % 3}, f"new{turn % 4}": {"command": [str(turn)]}}
        wanted = {"tasks": tasks, "triggers": {"nightly": nightly, f"t{turn % 4}": nightly}}
        return await api.owner.post("/v1/apply", {"project": "shop", "definitions": wanted})

    async def weigh(turn: int) -> Answer:
        return await api.owner.put(SHOP, {"weight": 1 + turn % 5})

    async def start(turn: int) -> Answer:
        keys = [f"{turn // 2}-{number}" for number in range(3)][:: 1 if turn % 2 else -1]
        orders = [{"task": "hello", "input": {"day": "x"}, "idempotency_key": key} for key in keys]
        return await api.owner.post(f"{SHOP}/runs", {"runs": orders})

    async def act(turn: int) -> Answer:
        verb = ("pause", "resume", "fire")[turn % 3]
        return await api.owner.post(f"{SHOP}/triggers/nightly/{verb}", {"request_id": str(uuid4())})

    async def repeat(call: Callable[[int], Awaitable[Answer]], turns: range) -> None:
        answers.extend([await call(turn) for turn in turns])

    async with trio.open_nursery() as nursery:
        for call in (publish, weigh, start, act):
            nursery.start_soon(repeat, call, range(12))
            nursery.start_soon(repeat, call, range(6, 18))
    return answers
