"""A seeded database to attack."""

from __future__ import annotations

import pytest

from tests.harness import ScratchDatabase
from tests.harness.seed import Seed


@pytest.fixture
def seed(database: ScratchDatabase) -> Seed:
    """Seeds this test's database; the task `report` exists."""
    seed = Seed(database)
    seed.task("report")
    return seed
