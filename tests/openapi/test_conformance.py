"""A running ingress keeps to its document: schemathesis sends what it describes, and what it does not."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from tenure_ingress.call import CALLS
from tests.harness import ScratchDatabase
from tests.harness.ingress import open_ingress
from tests.harness.seed import Seed
from tests.openapi.running import Seen, converse, seed_life

# To generate what fits a schema, and what just does not, takes ten seconds of a processor that may be shared.
pytestmark = pytest.mark.timeout(600)

OFFERED = {call.name for call in CALLS if call.operation}

PATIENT: dict[str, Any] = {"failures_per_peer": 1_000_000, "failures": 1_000_000}
"""One of five requests has a credential that is refused, and the others come from the same address."""

SHORT = """
[phases]
examples.enabled = false
stateful.enabled = false
coverage.generation.mode = "positive"
fuzzing.generation = { mode = "negative", max-examples = 3 }
"""
"""Every bound of every field once, and some chance about what is wrong."""

LONG = """
[phases]
stateful.enabled = false
fuzzing.generation = { mode = "all", max-examples = 100 }
"""


async def test_a_described_request_is_answered_as_described_and_any_other_refused(
    database: ScratchDatabase, tmp_path: Path
) -> None:
    """And nobody is served without a credential."""
    async with open_ingress(database, **PATIENT) as ingress:
        seeded = await seed_life(Seed(database), ingress)
        seen = await converse(ingress, seeded, tmp_path, SHORT)
    check_depth(seen)


@pytest.mark.slow
@pytest.mark.timeout(3600)
async def test_a_long_conversation(database: ScratchDatabase, tmp_path: Path) -> None:
    """Every bound of every field, kept and broken, and much chance."""
    async with open_ingress(database, **PATIENT) as ingress:
        seeded = await seed_life(Seed(database), ingress)
        seen = await converse(ingress, seeded, tmp_path, LONG, random.randrange(2**32))
    check_depth(seen)


def check_depth(seen: Seen) -> None:
    """Fail the test unless most calls were served, and refused for their form and for the state of things."""
    assert len({call for call, status, _ in seen if status == 200}) >= len(OFFERED) - 1
    assert len({call for call, _, code in seen if code == "invalid_field"}) >= len(OFFERED) - 3
    assert {"credential_required", "credential_refused"} <= {code for _, _, code in seen}
    states = {code for _, status, code in seen if status in {404, 409}}
    assert {"lease_fenced", "unknown_attempt", "lease_not_started", "content_conflict"} <= states
