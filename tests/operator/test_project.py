"""Projects: made, weighed, shown."""

from __future__ import annotations

import pytest

from tests.harness.operator import OperatorApi, OperatorClient


async def test_a_project_is_made_once(owner: OperatorClient, api: OperatorApi) -> None:
    first = await owner.put("/v1/projects/shop", {"weight": 3})
    again = await owner.put("/v1/projects/shop", {"weight": 3})
    assert (first.status, again.status) == (201, 200)
    assert first.json == again.json == (await owner.get("/v1/projects/shop")).json
    assert first.json["weight"] == 3
    assert api.database.value("SELECT count(*) FROM tenure.project_shares") == 10  # one for each priority


async def test_a_weight_is_changed(owner: OperatorClient) -> None:
    await owner.put("/v1/projects/shop", {})
    changed = await owner.put("/v1/projects/shop", {"weight": 7})
    assert (changed.status, changed.json["weight"], changed.json["version"]) == (200, 7, 2)


@pytest.mark.parametrize(
    ("name", "body", "code"),
    [
        ("Shop", {}, "invalid_field"),
        ("shop", {"weight": 0}, "invalid_field"),
        ("shop", {"wait": 1}, "unknown_field"),
        ("shop", [], "invalid_field"),
    ],
)
async def test_a_bad_project_is_refused(owner: OperatorClient, name: str, body: object, code: str) -> None:
    assert (await owner.put(f"/v1/projects/{name}", body)).code == code
    assert (await owner.get("/v1/projects")).json["items"] == []


async def test_an_archived_project_takes_nothing(api: OperatorApi, shop: str) -> None:
    api.database.execute("UPDATE tenure.projects SET state = 'archived'")
    for answer in (
        await api.owner.put("/v1/projects/shop", {"weight": 2}),
        await api.owner.put(f"{shop}/tasks/hello", {"command": ["x"]}),
        await api.owner.post("/v1/apply", {"project": "shop", "definitions": {}}),
        await api.owner.post(f"{shop}/runs", {"task": "hello", "idempotency_key": "k"}),
    ):
        assert answer.code == "archived"


async def test_projects_are_listed_by_pages(owner: OperatorClient) -> None:
    names = [f"p{number}" for number in range(5)]
    for name in reversed(names):
        await owner.put(f"/v1/projects/{name}", {})
    assert [item["project"] for item in await owner.pages("/v1/projects", limit=2)] == names
