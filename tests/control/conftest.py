"""The parts of one replica over a database of the test."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.harness import ScratchDatabase
from tests.harness.control import StageParts, stage_parts


@pytest.fixture
async def parts(database: ScratchDatabase) -> AsyncIterator[StageParts]:
    """What stages are made of."""
    async with stage_parts(database) as parts:
        yield parts
