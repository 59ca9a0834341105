"""A seeded database, and the parts of one replica over it."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.harness import ScratchDatabase
from tests.harness.control import StageParts, stage_parts
from tests.harness.seed import Seed


@pytest.fixture
def seed(database: ScratchDatabase) -> Seed:
    """Seeds this test's database; the task `report` exists."""
    seed = Seed(database)
    seed.task("report")
    return seed


@pytest.fixture
async def parts(database: ScratchDatabase) -> AsyncIterator[StageParts]:
    """What stages are made of."""
    async with stage_parts(database) as parts:
        yield parts
