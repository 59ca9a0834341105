"""Starting runs by hand: pins, plans, replays, conflicts, lists, and bad input."""

from __future__ import annotations

import json
from typing import Any

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from tenure_contracts.definition import compile_task, read_task
from tenure_contracts.digest import PLAN_DOMAIN, digest_of_text
from tenure_contracts.plan import decode_plan
from tenure_control.decision.render import render_run
from tests.harness.operator import OperatorApi, OperatorClient
from tests.operator.conftest import SHOP

RUNS = f"{SHOP}/runs"


def order(key: str = "k", task: str = "report", **more: Any) -> dict[str, Any]:
    return {"task": task, "input": {"day": "mon"}, "idempotency_key": key, **more}


async def test_a_run_pins_its_revision_and_carries_its_plan(api: OperatorApi, shop: str) -> None:
    answer = await api.owner.post(RUNS, order())
    run = answer.json
    assert answer.status == 201
    assert (run["task"], run["revision"], run["status"], run["attempts"]) == ("report", 1, "queued", 1)
    assert (run["cause"], run["input"], run["priority"], run["replayed"]) == (
        "manual",
        {"day": "mon"},
        5,
        False,
    )
    [row] = api.database.rows("SELECT plan, plan_digest FROM tenure.runs")
    assert decode_plan(row["plan"]).argv == ("report", "--day", "mon")
    assert digest_of_text(PLAN_DOMAIN, row["plan"]) == row["plan_digest"]
    assert (api.dispatched, api.woken) == (1, 2)
    await api.owner.put(f"{shop}/tasks/report", {"command": ["other"]})
    assert (await api.owner.get(f"{RUNS}/{run['run']}")).json["revision"] == 1
    assert (await api.owner.post(RUNS, order("k2"))).json["revision"] == 2
    assert (await api.owner.post(RUNS, order("k3", revision=1))).json["revision"] == 1


async def test_the_same_key_and_content_is_the_same_run(api: OperatorApi, shop: str) -> None:
    first = await api.owner.post(RUNS, order())
    dispatched = api.dispatched
    # Equal as JSON, not as text; and the task moved on meanwhile, to templates that this input cannot fill.
    await api.owner.put(f"{shop}/tasks/report", {"command": ["{{ input.night }}"]})
    body = b'{"idempotency_key": "k", "input": { "day":"mon" }, "task": "report"}'
    again = await api.owner.call("POST", RUNS, body)
    assert (again.status, again.json) == (200, {**first.json, "replayed": True})
    assert api.dispatched == dispatched
    assert api.database.value("SELECT count(*) FROM tenure.runs") == 1
    started = "SELECT count(*) FROM tenure.security_audit_events WHERE action = 'start'"
    assert api.database.value(started) == 1


@pytest.mark.parametrize(
    "other", [{"input": {"day": "tue"}}, {"task": "hello"}, {"priority": 5}, {"revision": 1}, {"input": None}]
)
async def test_the_same_key_with_other_content_is_a_conflict(
    api: OperatorApi, shop: str, other: dict[str, Any]
) -> None:
    await api.owner.post(RUNS, order())
    assert (await api.owner.post(RUNS, {**order(), **other})).code == "idempotency_conflict"
    assert api.database.value("SELECT count(*) FROM tenure.runs") == 1


async def test_a_key_is_of_its_project(owner: OperatorClient, shop: str) -> None:
    definitions = {"tasks": {"report": {"command": ["x"]}}}
    await owner.post("/v1/apply", {"project": "bank", "definitions": definitions})
    assert (await owner.post(RUNS, order())).status == 201
    assert (await owner.post("/v1/projects/bank/runs", order())).status == 201


async def test_one_key_sent_at_once_admits_one_run(api: OperatorApi, shop: str) -> None:
    answers = []

    async def start() -> None:
        answers.append(await api.owner.post(RUNS, order()))

    async with trio.open_nursery() as nursery:
        for _ in range(6):
            nursery.start_soon(start)
    assert sorted(answer.status for answer in answers) == [200] * 5 + [201]
    assert len({answer.json["run"] for answer in answers}) == 1


async def test_a_list_is_admitted_in_one_transaction(api: OperatorApi, shop: str) -> None:
    orders = [order(f"k{number % 8}", priority=number % 8) for number in range(10)]
    answer = await api.owner.post(RUNS, {"runs": orders})
    assert answer.status == 201
    runs = answer.json["runs"]
    assert [run["priority"] for run in runs] == [number % 8 for number in range(10)]
    assert [run["replayed"] for run in runs] == [False] * 8 + [True] * 2
    assert runs[8]["run"] == runs[0]["run"]
    assert (await api.owner.post(RUNS, {"runs": orders})).status == 200


async def test_one_bad_run_of_a_list_refuses_them_all(api: OperatorApi, shop: str) -> None:
    answer = await api.owner.post(RUNS, {"runs": [order("a"), order("b", task="none")]})
    assert (answer.code, "`$.runs[1].task`" in answer.json["detail"]) == ("not_found", True)
    answer = await api.owner.post(RUNS, {"runs": [order("a"), order("a", priority=1)]})
    assert (answer.code, "`$.runs[1].idempotency_key`" in answer.json["detail"]) == (
        "idempotency_conflict",
        True,
    )
    answer = await api.owner.post(RUNS, {"runs": [order("a"), order("b", input={})]})
    assert (answer.code, "input.day" in answer.json["detail"]) == ("invalid_field", True)
    assert api.database.value("SELECT count(*) FROM tenure.runs") == 0


async def test_a_thousand_runs_at_once(api: OperatorApi, shop: str) -> None:
    answer = await api.owner.post(RUNS, {"runs": [order(f"k{number}") for number in range(1000)]})
    assert (answer.status, len(answer.json["runs"])) == (201, 1000)
    assert api.database.value("SELECT count(*) FROM tenure.run_attempts WHERE dispatchable") == 1000
    assert (await api.owner.post(RUNS, {"runs": [order("k")] * 1001})).code == "invalid_field"


async def test_overlapping_lists_at_once_do_not_deadlock(api: OperatorApi, shop: str) -> None:
    statuses = []

    async def start(step: int) -> None:
        orders = [order(f"k{number}", task=("hello", "report")[number % 2]) for number in range(30)]
        statuses.append((await api.owner.post(RUNS, {"runs": orders[::step]})).status)

    async with trio.open_nursery() as nursery:
        for step in (1, -1, 1, -1):
            nursery.start_soon(start, step)
    assert sorted(statuses) == [200, 200, 200, 201]
    assert api.database.value("SELECT count(*) FROM tenure.runs") == 30


BAD: list[tuple[object, str]] = [
    ({"task": "report"}, "invalid_field"),
    (order(task="none"), "not_found"),
    (order(revision=7), "not_found"),
    (order(input={}), "invalid_field"),
    (order(input={"day": None}), "invalid_field"),
    (order(input={"day": "a\0b"}), "invalid_field"),
    (order(input={"day": "x" * 70_000}), "invalid_field"),
    (order(priority=10), "invalid_field"),
    (order(key=""), "invalid_field"),
    (order(key="x" * 256), "invalid_field"),
    (order(key="cron:nightly:1:2026-01-01"), "invalid_field"),
    (order(workflow="w"), "invalid_field"),
    ({"workflow": "w", "idempotency_key": "k"}, "not_available"),
    (order(unknown=1), "unknown_field"),
    ({"runs": []}, "invalid_field"),
    ({"runs": [order()], "task": "report"}, "unknown_field"),
    ([], "invalid_field"),
]


async def test_a_bad_submission_is_refused(api: OperatorApi, shop: str) -> None:
    for body, code in BAD:
        assert (await api.owner.post(RUNS, body)).code == code, body
    assert api.database.value("SELECT count(*) FROM tenure.runs") == 0


@pytest.mark.parametrize("number", ["1e-400", "1e400", "123456789012345678901234567890", "0.1"])
async def test_numbers_of_an_input_are_kept_or_refused(api: OperatorApi, shop: str, number: str) -> None:
    body = f'{{"task": "report", "idempotency_key": "k", "input": {{"day": {number}}}}}'
    answer = await api.owner.call("POST", RUNS, body.encode())
    assert answer.status == 201 or answer.code == "invalid_field"


async def test_a_damaged_revision_starts_nothing(api: OperatorApi, shop: str) -> None:
    api.database.execute(
        "ALTER TABLE tenure.task_revisions DISABLE TRIGGER USER;"
        "UPDATE tenure.task_revisions SET digest = decode(repeat('00', 32), 'hex') WHERE task = 'report'"
    )
    assert (await api.owner.post(RUNS, order())).code == "internal_error"
    assert (await api.owner.post(RUNS, order(task="hello"))).status == 201


async def test_an_archived_task_starts_nothing_but_answers_replays(api: OperatorApi, shop: str) -> None:
    await api.owner.post(RUNS, order())
    api.database.execute("UPDATE tenure.task_heads SET state = 'archived'")
    assert (await api.owner.post(RUNS, order())).status == 200
    assert (await api.owner.post(RUNS, order("new"))).code == "archived"


TEXT = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=40)


@given(TEXT)
def test_an_input_stays_inside_its_argument(day: str) -> None:
    task = compile_task("t", read_task({"command": ["sh", "-c", "{{ input.day }}", "end"]}))
    rendered = render_run(task.spec, {"day": day})
    assert decode_plan(rendered.text).argv == ("sh", "-c", day, "end")
    assert rendered.digest == digest_of_text(PLAN_DOMAIN, rendered.text)
    assert json.loads(rendered.text)["argv"][2] == day
