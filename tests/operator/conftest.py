"""An operator API per test, and a project with a task in it."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.harness import ScratchDatabase
from tests.harness.operator import OperatorApi, OperatorClient, open_operator

SHOP = "/v1/projects/shop"
REPORT = {"command": ["report", "--day", "{{ input.day }}"]}


@pytest.fixture
async def api(database: ScratchDatabase) -> AsyncIterator[OperatorApi]:
    """The API of this test's database."""
    async with open_operator(database) as opened:
        yield opened


@pytest.fixture
async def owner(api: OperatorApi) -> OperatorClient:
    """An operator who may do everything."""
    return api.owner


@pytest.fixture
async def shop(owner: OperatorClient) -> str:
    """The path of a project with the tasks `hello` and `report`, which needs `input.day`."""
    definitions = {"tasks": {"hello": {"command": ["echo", "hello"]}, "report": REPORT}}
    answer = await owner.post("/v1/apply", {"project": "shop", "definitions": definitions})
    assert answer.status == 200, answer.body
    return SHOP
