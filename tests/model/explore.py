"""Running the machine: so many steps, the same ones each time for the same seed."""

from __future__ import annotations

from typing import Final
from unittest.mock import patch

import trio
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.internal.conjecture.providers import HypothesisProvider
from hypothesis.stateful import run_state_machine_as_test

from tests.model.coverage import unseen
from tests.model.machine import Protocol
from tests.model.world import World

EXAMPLES: Final = 10
RULES: Final = 40
"""In one example; a rule makes one step or a few, and the beginning of an example about ten."""

SHRUNK: Final = (Phase.generate, Phase.shrink)
RAW: Final = (Phase.generate,)


async def explore(world: World, steps: int, number: int, phases: tuple[Phase, ...] = SHRUNK) -> None:
    """Make at least so many steps, and up to three times as many until every answer was seen.

    A disagreement is an AssertionError, with the calls that lead to it.

    number: where chance begins. The part that fails says its own number, with which it can be repeated alone.
    """
    while world.steps < steps or (unseen(world.seen) and world.steps < 3 * steps):
        await trio.to_thread.run_sync(_explore_part, world, number, phases)
        number += 1
        print(f"{world.steps} steps; the next number is {number}", flush=True)


def _explore_part(world: World, number: int, phases: tuple[Phase, ...]) -> None:
    # Hypothesis would also draw constants from every module of the project that is loaded, so that the steps
    # of a number would be others after an edit that has nothing to do with them.
    without_constants = patch.object(HypothesisProvider, "_maybe_draw_constant", _no_constant)
    try:
        with without_constants:
            run_state_machine_as_test(
                seed(number)(type("Example", (Protocol,), {"world": world})),
                settings=settings(
                    max_examples=EXAMPLES,
                    stateful_step_count=RULES,
                    deadline=None,
                    database=None,
                    phases=phases,
                    report_multiple_bugs=False,
                    suppress_health_check=(
                        HealthCheck.too_slow,
                        HealthCheck.data_too_large,
                        HealthCheck.filter_too_much,
                    ),
                ),
            )
    except AssertionError as error:
        error.add_note(f"number {number}, after {world.steps} steps")
        raise


def _no_constant(*_args: object, **_keywords: object) -> None:
    """Nothing but chance decides what is drawn."""
