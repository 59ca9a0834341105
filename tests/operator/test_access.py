"""Tokens and roles: who gets in, who sees what, and what is written about it."""

from __future__ import annotations

from datetime import timedelta
from uuid import uuid4

import pytest

from tenure_contracts.identity import operator_token
from tenure_control.operator import (
    Surface,
    definition,
    enrol_operator,
    knows_token,
    operator_routes,
    project,
    submission,
    trigger,
    worker,
)
from tenure_control.repository.access.caller import Role
from tests.harness import ScratchDatabase
from tests.harness.operator import OperatorApi, OperatorClient
from tests.operator.conftest import SHOP

RUN = f"{SHOP}/runs"


async def test_a_call_needs_a_token(api: OperatorApi) -> None:
    stranger = OperatorClient(api.router, None)
    assert (await stranger.get("/v1/cadence")).code == "credential_required"
    assert (
        await stranger.call("GET", "/v1/cadence", authorization="Basic abc")
    ).code == "credential_required"


@pytest.mark.parametrize(
    "token", ["to1_x", "tw1_abcdefgh_" + "A" * 43, operator_token("unknown0", bytes(32))]
)
async def test_a_wrong_token_is_refused(api: OperatorApi, token: str) -> None:
    stranger = OperatorClient(api.router, token)
    assert (await stranger.get("/v1/cadence")).code == "credential_refused"
    assert (await stranger.post("/v1/apply", "not even looked at")).code == "credential_refused"


async def test_a_revoked_or_expired_token_is_refused(api: OperatorApi, database: ScratchDatabase) -> None:
    database.execute("UPDATE tenure.operator_tokens SET expires_at = tenure.clock() + interval '1 hour'")
    assert (await api.owner.get("/v1/cadence")).status == 200
    database.shift(timedelta(hours=2))
    assert (await api.owner.get("/v1/cadence")).code == "credential_refused"
    database.execute("UPDATE tenure.operator_tokens SET expires_at = NULL, state = 'revoked'")
    assert (await api.owner.get("/v1/cadence")).code == "credential_refused"


async def test_every_route_authenticates(api: OperatorApi) -> None:
    async with api.database.open("tenure_operator") as opened:
        routes = operator_routes(Surface(opened))
    stranger = OperatorClient(api.router, operator_token("unknown0", bytes(32)))
    for route in routes:
        path = (
            route.path.replace("{run}", str(uuid4()))
            .replace("{revision}", "1")
            .replace("{", "")
            .replace("}", "")
        )
        body = b"{}" if route.body_bytes else None
        assert (await stranger.call(route.method, path, body)).code == "credential_refused", route.name


async def test_another_projects_objects_are_not_found(api: OperatorApi, shop: str) -> None:
    await api.owner.put("/v1/projects/bank", {})
    banker = await api.enrol("bert", "admin", "bank")
    start = {"task": "hello", "input": None, "idempotency_key": "k"}
    for answer in (
        await banker.get(shop),
        await banker.get(f"{shop}/tasks/hello"),
        await banker.get(RUN),
        await banker.post(RUN, start),
        await banker.put(f"{shop}/tasks/hello", {"command": ["x"]}),
        await banker.get("/v1/projects/nowhere"),
    ):
        assert answer.code == "not_found"
    run = (await api.owner.post(RUN, start)).json["run"]
    assert (await banker.get(f"/v1/projects/bank/runs/{run}")).code == "not_found"
    assert (await banker.get(f"/v1/projects/bank/runs/{run}/events")).code == "not_found"
    assert [item["project"] for item in (await banker.get("/v1/projects")).json["items"]] == ["bank"]


ALLOWED: dict[Role, set[str]] = {
    "viewer": {"show"},
    "operator": {"show", "start"},
    "admin": {"show", "start", "publish"},
    "owner": {"show", "start", "publish"},
}


@pytest.mark.parametrize("role", ALLOWED)
async def test_a_role_allows_what_lower_ones_do(api: OperatorApi, shop: str, role: Role) -> None:
    someone = await api.enrol("someone", role, "shop")
    answers = {
        "show": await someone.get(f"{shop}/tasks/hello"),
        "start": await someone.post(RUN, {"task": "hello", "idempotency_key": "k"}),
        "publish": await someone.put(f"{shop}/tasks/hello", {"command": ["x"]}),
    }
    assert {name for name, answer in answers.items() if answer.status < 300} == ALLOWED[role]
    assert all(answer.status < 300 or answer.code == "forbidden" for answer in answers.values())


async def test_a_role_in_one_project_is_none_for_the_whole(api: OperatorApi, shop: str) -> None:
    admin = await api.enrol("ann", "owner", "shop")
    for answer in (
        await admin.put("/v1/projects/new", {}),
        await admin.get("/v1/workers"),
        await admin.get("/v1/cadence"),
        await admin.post("/v1/workers/w1/credentials", {"request_id": str(uuid4())}),
    ):
        assert answer.code == "forbidden"
    made = await admin.post("/v1/apply", {"project": "new", "definitions": {}})
    assert made.code == "not_found"


async def _let_in(surface: object, needed: object) -> str:
    return "anybody"


async def test_the_role_is_checked_again_where_it_matters(
    api: OperatorApi, shop: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The transaction of the effect asks for itself: a role may be taken away after the first look."""
    await api.owner.put(f"{shop}/triggers/t", {"task": "hello", "cron": "@daily", "timezone": "UTC"})
    for module in (definition, project, submission, trigger, worker):
        monkeypatch.setattr(module, "check", _let_in)
    viewer, noted = await api.enrol("vera", "viewer"), {"request_id": str(uuid4())}
    for answer in (
        await viewer.put("/v1/projects/shop", {"weight": 2}),
        await viewer.put(f"{shop}/tasks/hello", {"command": ["x"]}),
        await viewer.put(f"{shop}/triggers/t", {"task": "hello", "cron": "@hourly", "timezone": "UTC"}),
        await viewer.post("/v1/apply", {"project": "shop", "definitions": {}}),
        await viewer.post(RUN, {"task": "hello", "idempotency_key": "k"}),
        await viewer.post(f"{shop}/triggers/t/pause", noted),
        await viewer.post(f"{shop}/triggers/t/fire", noted),
        await viewer.post("/v1/workers/w1/credentials", noted),
    ):
        assert answer.code == "forbidden"
    assert api.database.value("SELECT count(*) FROM tenure.runs") == 0


async def test_an_effect_is_audited_with_its_operator(api: OperatorApi, shop: str) -> None:
    admin = await api.enrol("ann", "admin", "shop")
    await admin.put(f"{shop}/tasks/hello", {"command": ["other"]})
    await admin.put(f"{shop}/tasks/hello", {"command": ["other"]})
    rows = api.database.rows(
        "SELECT action, object, detail::text FROM tenure.security_audit_events WHERE actor = 'operator:ann'"
    )
    assert [tuple(row) for row in rows] == [
        ("publish", "project:shop", '{"tasks": {"hello": 2}, "triggers": {}}')
    ]


async def test_a_refused_call_leaves_no_audit_row(api: OperatorApi, shop: str) -> None:
    before = api.database.value("SELECT count(*) FROM tenure.security_audit_events")
    answer = await api.owner.post(RUN, {"task": "nothing", "idempotency_key": "k"})
    assert answer.code == "not_found"
    assert api.database.value("SELECT count(*) FROM tenure.security_audit_events") == before


async def test_enrolling_again_changes_the_role_and_adds_a_token(database: ScratchDatabase) -> None:
    async with database.open("tenure_migrate") as opened:
        first = await enrol_operator(opened, "ann")
        second = await enrol_operator(opened, "ann", role="viewer")
    assert first != second
    assert database.value("SELECT role FROM tenure.role_bindings WHERE operator = 'ann'") == "viewer"
    async with database.open("tenure_operator") as opened:
        assert await knows_token(opened, first)
        assert await knows_token(opened, second)
        assert not await knows_token(opened, second[:-1])
        assert not await knows_token(opened, operator_token("unknown0", bytes(32)))
