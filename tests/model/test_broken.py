"""The machine finds what is broken: each of these faults is one that the protocol must not have."""

from __future__ import annotations

import pytest

from tests.harness import ScratchDatabase
from tests.model.explore import RAW, explore
from tests.model.open import open_world

STEPS = 4_000

BROKEN = {
    "a start under a stop": (
        "starting_v1",
        "WHEN l.stop_reason IS NOT NULL OR r.cancel_requested_at IS NOT NULL THEN 'stop_requested'",
        "",
    ),
    "a renewal without its generation": (
        "renew_v1",
        "i.token, i.generation, i.version",
        "i.token, l.generation, i.version",
    ),
    "an offer that claims twice": (
        "claim_offers_v1",
        "WHERE NOT EXISTS (SELECT FROM tenure.spent_offers o WHERE o.offer = i.offer)",
        "WHERE NOT EXISTS (SELECT FROM tenure.run_leases o WHERE o.offer = i.offer)",
    ),
}


QUICK = "a renewal without its generation"
"""Found after a few hundred steps; the others take longer."""


def break_function(database: ScratchDatabase, name: str, sound: str, broken: str) -> None:
    """Replace a part of a database function."""
    definition = database.value("SELECT pg_get_functiondef(oid) FROM pg_proc WHERE proname = $1", name)
    assert sound in definition, f"{name} does not say any more: {sound}"
    database.execute(definition.replace(sound, broken))


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    "fault",
    [QUICK, *(pytest.param(fault, marks=pytest.mark.slow) for fault in BROKEN if fault != QUICK)],
)
async def test_the_machine_finds(fault: str, database: ScratchDatabase) -> None:
    break_function(database, *BROKEN[fault])
    async with open_world(database) as world:
        with pytest.raises(AssertionError):
            await explore(world, STEPS, 1, RAW)
        print(f"{fault}: found after {world.steps} steps")
    assert world.steps < STEPS
