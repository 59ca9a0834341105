"""Apply: all or nothing, the difference, dry runs, and every kind of bad definition."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.harness.operator import Answer, OperatorApi, OperatorClient
from tests.operator.conftest import SHOP

TASK = {"command": ["echo", "{{ input.day }}"]}
TRIGGER = {
    "task": "report",
    "cron": "@daily",
    "timezone": "UTC",
    "input": {"day": "{{ scheduled_for.date }}"},
}


async def apply(client: OperatorClient, *, dry_run: bool = False, **definitions: Any) -> Answer:
    return await client.post("/v1/apply", {"project": "shop", "definitions": definitions, "dry_run": dry_run})


def changes(answer: Answer) -> list[tuple[str, str, str, int]]:
    assert answer.status == 200, answer.body
    return [(each["kind"], each["name"], each["change"], each["revision"]) for each in answer.json["changes"]]


async def test_apply_makes_the_project_and_everything_in_it(api: OperatorApi) -> None:
    answer = await apply(api.owner, tasks={"report": TASK}, triggers={"daily": TRIGGER})
    assert changes(answer) == [("task", "report", "create", 1), ("trigger", "daily", "create", 1)]
    assert (await api.owner.get(SHOP)).json["weight"] == 1
    assert (await api.owner.get(f"{SHOP}/triggers/daily")).json["task_revision"] == 1
    assert api.woken == 1


async def test_applying_again_changes_nothing(api: OperatorApi) -> None:
    await apply(api.owner, tasks={"report": TASK}, triggers={"daily": TRIGGER})
    audited = api.database.value("SELECT count(*) FROM tenure.security_audit_events")
    answer = await apply(api.owner, tasks={"report": TASK}, triggers={"daily": TRIGGER})
    assert changes(answer) == [("task", "report", "none", 1), ("trigger", "daily", "none", 1)]
    assert api.database.value("SELECT count(*) FROM tenure.security_audit_events") == audited
    assert api.woken == 1


async def test_a_changed_task_gives_its_triggers_here_a_new_revision(owner: OperatorClient) -> None:
    other = {**TRIGGER, "cron": "@hourly"}
    await apply(owner, tasks={"report": TASK}, triggers={"daily": TRIGGER, "hourly": other})
    changed = {**TASK, "priority": 9}
    answer = await apply(owner, tasks={"report": changed}, triggers={"daily": TRIGGER})
    assert changes(answer) == [("task", "report", "update", 2), ("trigger", "daily", "update", 2)]
    assert [each["diff"] for each in answer.json["changes"]] == [
        {"priority": [5, 9]},
        {"task_revision": [1, 2]},
    ]
    assert (await owner.get(f"{SHOP}/triggers/daily")).json["task_revision"] == 2
    assert (await owner.get(f"{SHOP}/triggers/hourly")).json["task_revision"] == 1


async def test_a_dry_run_shows_and_changes_nothing(api: OperatorApi) -> None:
    first = await apply(api.owner, dry_run=True, tasks={"report": TASK}, triggers={"daily": TRIGGER})
    assert changes(first) == [("task", "report", "create", 1), ("trigger", "daily", "create", 1)]
    assert first.json["dry_run"] is True
    assert (await api.owner.get(SHOP)).code == "not_found"
    await apply(api.owner, tasks={"report": TASK})
    second = await apply(api.owner, dry_run=True, tasks={"report": {**TASK, "timeout": "5s"}})
    assert second.json["changes"][0]["diff"] == {"plan.timeout_us": [None, 5_000_000]}
    assert (await api.owner.get(f"{SHOP}/tasks/report")).json["revision"] == 1
    viewer = await api.enrol("vera", "viewer", "shop")
    assert (await apply(viewer, dry_run=True, tasks={"report": TASK})).status == 200
    assert (await apply(viewer, tasks={"report": TASK})).code == "forbidden"


BAD: dict[str, tuple[dict[str, Any], str, str]] = {
    "unknown key": (
        {"tasks": {"t": {"command": ["x"], "comand": 1}}},
        "$.tasks.t",
        "did you mean `command`",
    ),
    "unknown kind": ({"task": {}}, "$", "did you mean `tasks`"),
    "bad duration": ({"tasks": {"t": {"command": ["x"], "timeout": "5"}}}, "$.tasks.t.timeout", "duration"),
    "no executor": ({"tasks": {"t": {}}}, "$.tasks.t", "command"),
    "bad name": ({"tasks": {"T T": {"command": ["x"]}}}, "$.tasks.T T", "not a name"),
    "NUL": ({"tasks": {"t": {"command": ["a\0b"]}}}, "$.tasks.t", "NUL"),
    "bad template": (
        {"tasks": {"t": {"command": ["{{ inptu.x }}"]}}},
        "$.tasks.t.command",
        "must begin with",
    ),
    "bad cron": ({"triggers": {"t": {**TRIGGER, "cron": "61 * * * *"}}}, "$.triggers.t.cron", ""),
    "cron of two fields": ({"triggers": {"t": {**TRIGGER, "cron": "* *"}}}, "$.triggers.t.cron", ""),
    "never-firing cron": (
        {"triggers": {"t": {**TRIGGER, "cron": "0 0 30 2 *"}}},
        "$.triggers.t.cron",
        "can never fire",
    ),
    "unknown macro": ({"triggers": {"t": {**TRIGGER, "cron": "@dayly"}}}, "$.triggers.t.cron", "@daily"),
    "unknown zone": (
        {"triggers": {"t": {**TRIGGER, "timezone": "Mars/Base"}}},
        "$.triggers.t.timezone",
        "time zone",
    ),
    "missing zone": ({"triggers": {"t": {"task": "report", "cron": "@daily"}}}, "$.triggers.t", "timezone"),
    "unknown task": ({"triggers": {"t": {**TRIGGER, "task": "none"}}}, "$.triggers.t.task", "not a task"),
    "missing input": ({"triggers": {"t": {**TRIGGER, "input": {}}}}, "$.triggers.t.input", "input.day"),
    "cycle": (
        {
            "workflows": {
                "w": {"steps": {"a": {"task": "t", "needs": ["b"]}, "b": {"task": "t", "needs": ["a"]}}}
            }
        },
        "$.workflows.w.steps",
        "cycle",
    ),
    "oversize": ({"tasks": {"t": {"command": ["x" * 30_000] * 10}}}, "$.tasks.t", "bytes"),
    "undeclared safety": (
        {"tasks": {"t": {"command": ["x"], "retry": {"max_attempts": 2, "on": ["lost"]}}}},
        "$.tasks.t.retry.on",
        "declared safety",
    ),
    "too many": ({"tasks": {f"t{n}": {"command": ["x"]} for n in range(1001)}}, "$", "at most 1000"),
}


@pytest.mark.parametrize("name", BAD)
async def test_a_bad_definition_is_refused_with_path_and_reason(api: OperatorApi, name: str) -> None:
    definitions, path, reason = BAD[name]
    good: dict[str, Any] = {"tasks": {"report": TASK}, "triggers": {"daily": TRIGGER}}
    whole = {kind: good.get(kind, {}) | definitions.get(kind, {}) for kind in {*good, *definitions}}
    for dry_run in (True, False):
        answer = await apply(api.owner, dry_run=dry_run, **whole)
        assert (answer.status, answer.code) == (400, "invalid_definition"), answer.body
        assert any(where.startswith(path) and reason in why for where, why in answer.errors.items()), (
            answer.errors
        )
    assert api.database.value("SELECT count(*) FROM tenure.projects") == 0


async def test_every_fault_is_told_at_once(owner: OperatorClient) -> None:
    answer = await apply(
        owner,
        tasks={"a": {"command": ["x"], "timeout": "5"}, "b": {"command": []}},
        triggers={"t": {**TRIGGER, "grace": "1h"}},
    )
    assert {"$.tasks.a.timeout", "$.triggers.t.grace"} <= set(answer.errors)
    assert "more)" in answer.json["detail"]


MISSING: dict[str, tuple[dict[str, Any], str]] = {
    "workflow": ({"workflows": {"w": {"steps": {"a": {"task": "report"}}}}}, "$.workflows.w"),
    "concurrency": ({"tasks": {"t": {**TASK, "concurrency": {"key": "k"}}}}, "$.tasks.t.concurrency"),
    "secrets": ({"tasks": {"t": {**TASK, "secrets": ["s"]}}}, "$.tasks.t.secrets"),
    "log_limit": ({"tasks": {"t": {**TASK, "log_limit": "1KiB"}}}, "$.tasks.t.log_limit"),
    "unknown": ({"tasks": {"t": {**TASK, "outcome_unknown_after": "6h"}}}, "$.tasks.t.outcome_unknown_after"),
    "contact": ({"tasks": {"t": {**TASK, "stop_on_lost_contact": "5m"}}}, "$.tasks.t.stop_on_lost_contact"),
    "presumed": (
        {"tasks": {"t": {**TASK, "presume_lost_after": "10m", "retry": {"safety": "idempotent"}}}},
        "$.tasks.t.presume_lost_after",
    ),
    "queue_one": ({"triggers": {"t": {**TRIGGER, "overlap": "queue_one"}}}, "$.triggers.t.overlap"),
    "cancel_other": ({"triggers": {"t": {**TRIGGER, "overlap": "cancel_other"}}}, "$.triggers.t.overlap"),
    "trigger of a workflow": (
        {"triggers": {"t": {"workflow": "w", "cron": "@daily", "timezone": "UTC"}}},
        "$.triggers.t.workflow",
    ),
}


async def test_what_is_not_executed_yet_is_refused_by_name(api: OperatorApi) -> None:
    for definitions, path in MISSING.values():
        answer = await apply(api.owner, **{"tasks": {"report": TASK}, **definitions})
        assert (answer.status, answer.code) == (501, "not_available"), path
        assert list(answer.errors) == [path]
    assert api.database.value("SELECT count(*) FROM tenure.projects") == 0


async def test_prune_is_refused(owner: OperatorClient) -> None:
    answer = await owner.post("/v1/apply", {"project": "shop", "definitions": {}, "prune": True})
    assert answer.code == "not_available"


async def test_a_name_that_stands_twice_is_refused(api: OperatorApi) -> None:
    task = json.dumps(TASK)
    body = f'{{"project": "shop", "definitions": {{"tasks": {{"t": {task}, "t": {task}}}}}}}'
    answer = await api.owner.call("POST", "/v1/apply", body.encode())
    assert answer.code == "invalid_definition"
    assert "`t` stands twice" in answer.json["detail"]
    answer = await api.owner.call("POST", "/v1/apply", b'{"project": "a", "project": "b", "definitions": {}}')
    assert answer.code == "invalid_definition"


MALFORMED = [
    (b"", "invalid_json"),
    (b"{", "invalid_json"),
    (b"\xff{}", "invalid_json"),
    (b'{"project": "shop", "definitions": ' + b'{"a":' * 100_000, "invalid_json"),
    (b"{}", "invalid_field"),
    (b'{"project": "A B", "definitions": {}}', "invalid_field"),
    (b'{"project": "shop", "definitions": []}', "invalid_field"),
    (b'{"project": "shop", "definitions": {}, "force": true}', "unknown_field"),
]


async def test_a_malformed_apply_is_refused(owner: OperatorClient) -> None:
    for body, code in MALFORMED:
        assert (await owner.call("POST", "/v1/apply", body)).code == code, body[:60]


@pytest.mark.parametrize(
    ("kind", "body", "path"),
    [
        ("tasks", {"command": ["x"], "timeout": "soon"}, "$.timeout"),
        ("tasks", ["x"], "$"),
        ("triggers", {**TRIGGER, "cron": "0 0 30 2 *"}, "$.cron"),
        ("triggers", {**TRIGGER, "task": "none"}, "$.task"),
        ("triggers", {**TRIGGER, "input": {}}, "$.input"),
    ],
)
async def test_a_bad_single_definition_is_refused(
    owner: OperatorClient, shop: str, kind: str, body: object, path: str
) -> None:
    answer = await owner.put(f"{shop}/{kind}/bad", body)
    assert answer.code == "invalid_definition"
    assert list(answer.errors) == [path]
    assert (await owner.get(f"{shop}/{kind}/bad")).code == "not_found"


async def test_a_large_project_is_one_short_transaction(owner: OperatorClient) -> None:
    tasks = {f"t{n}": {**TASK, "placement": {"require": {"zone": str(n % 10)}}} for n in range(500)}
    triggers = {f"c{n}": {**TRIGGER, "task": f"t{n}"} for n in range(500)}
    answer = await apply(owner, tasks=tasks, triggers=triggers)
    assert {each[2] for each in changes(answer)} == {"create"}
    assert len(await owner.pages(f"{SHOP}/triggers", limit=200)) == 500
