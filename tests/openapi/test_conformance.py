"""A running ingress keeps to its document: schemathesis sends what it describes, and what it does not."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tenure_ingress.call import CALLS
from tests.harness import ScratchDatabase
from tests.harness.ingress import open_ingress
from tests.harness.seed import Seed
from tests.openapi.running import Seen, converse, seed_life

# To generate what fits a schema, and what just does not, takes ten seconds of a processor that may be shared.
pytestmark = pytest.mark.timeout(600)

OFFERED = {call.name for call in CALLS if call.operation}

SHORT = """
[phases]
examples.enabled = false
stateful.enabled = false
coverage.generation.mode = "positive"
fuzzing.generation = { mode = "negative", max-examples = 3 }
"""
"""Every bound of every field once, and some chance about what is wrong."""

GLANCE = """
[phases]
coverage.enabled = false
stateful.enabled = false
fuzzing.generation = { mode = "positive", max-examples = 1 }
"""

LONG = """
[phases]
stateful.enabled = false
fuzzing.generation = { mode = "all", max-examples = 100 }
"""


async def test_a_described_request_is_answered_as_described_and_any_other_refused(
    database: ScratchDatabase, tmp_path: Path
) -> None:
    async with open_ingress(database) as ingress:
        seeded = await seed_life(Seed(database), ingress)
        seen = await converse(ingress, seeded, tmp_path, SHORT)
    check_depth(seen)


async def test_nobody_is_served_without_a_credential(database: ScratchDatabase, tmp_path: Path) -> None:
    async with open_ingress(database) as ingress:
        seeded = await seed_life(Seed(database), ingress)
        seeded.authorizations = ["", f"Bearer tw1_unknown00_{'A' * 43}", "Bearer tw1", "Basic dTpw"]
        seen = await converse(ingress, seeded, tmp_path, GLANCE)
    assert {"credential_required", "credential_refused"} <= {code for _, _, code in seen}


@pytest.mark.slow
@pytest.mark.timeout(3600)
async def test_a_long_conversation(database: ScratchDatabase, tmp_path: Path) -> None:
    """Every bound of every field, kept and broken, and much chance."""
    async with open_ingress(database) as ingress:
        seeded = await seed_life(Seed(database), ingress)
        seen = await converse(ingress, seeded, tmp_path, LONG, random.randrange(2**32))
    check_depth(seen)


def check_depth(seen: Seen) -> None:
    """Fail the test unless every call was served, and refused for its form and for the state of things."""
    assert {call for call, status, _ in seen if status == 200} == OFFERED
    assert {call for call, _, code in seen if code == "invalid_field"} == OFFERED
    states = {code for _, status, code in seen if status in {404, 409}}
    assert {"lease_fenced", "unknown_attempt", "lease_not_started", "content_conflict"} <= states
