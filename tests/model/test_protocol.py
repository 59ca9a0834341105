"""The protocol and the reference model agree, whatever is called in whatever order."""

from __future__ import annotations

import secrets

import pytest

from tests.harness import ScratchDatabase
from tests.model.coverage import unseen
from tests.model.explore import explore
from tests.model.open import open_world

STEPS = 5_000
MANY_STEPS = 500_000


@pytest.mark.timeout(900)  # a disagreement is made small before it is shown
async def test_five_thousand_steps(database: ScratchDatabase) -> None:
    async with open_world(database) as world:
        await explore(world, STEPS, 1)
    assert world.steps >= STEPS
    missing = ", ".join(unseen(world.seen))
    assert missing == ""


@pytest.mark.slow
@pytest.mark.timeout(6 * 3600)
async def test_many_steps_that_are_others_each_time(database: ScratchDatabase) -> None:
    number = secrets.randbelow(2**32)
    print(f"the first number is {number}")
    async with open_world(database) as world:
        await explore(world, MANY_STEPS, number)
    assert world.steps >= MANY_STEPS
    missing = ", ".join(unseen(world.seen))
    assert missing == ""
