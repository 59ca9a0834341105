"""The protocol and the reference model agree, whatever is called in whatever order."""

from __future__ import annotations

import pytest
import trio
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.harness import ScratchDatabase
from tests.model.machine import Protocol
from tests.model.open import open_world
from tests.model.world import World

STEPS = 5_000
PER_EXAMPLE = 50


def explore(world: World, examples: int) -> None:
    """Run so many examples, the same ones each time."""
    machine = type("Example", (Protocol,), {"world": world})
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=examples,
            stateful_step_count=PER_EXAMPLE,
            deadline=None,
            database=None,
            derandomize=True,
            phases=(Phase.generate,),
            suppress_health_check=list(HealthCheck),
        ),
    )


async def test_five_thousand_steps(database: ScratchDatabase) -> None:
    async with open_world(database) as world:
        await trio.to_thread.run_sync(explore, world, STEPS // PER_EXAMPLE)
    print(world.steps, sorted(world.seen.items()))
    assert world.steps >= STEPS
