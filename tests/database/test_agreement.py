"""Rules that exist twice, in the contracts package and in the database, decide the same."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tenure_contracts.fault import Faults
from tenure_contracts.placement import (
    CompiledPlacement,
    PlacementDefinition,
    compile_placement,
    matches,
)
from tenure_contracts.policy import ExitRule, Retry, RetryPolicy, decide_retry
from tests.harness import ScratchDatabase
from tests.harness.seed import Seed

MANY = settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    derandomize=True,
)

LABELS = st.dictionaries(st.sampled_from("abc"), st.sampled_from(["1", "2", "", "\u00e9", '"']), max_size=3)
HANDLERS = st.lists(st.sampled_from(["resize", "mail"]), unique=True)


@st.composite
def placements(draw: st.DrawFn) -> CompiledPlacement:
    definition = PlacementDefinition(
        require=draw(LABELS), any=tuple(draw(st.lists(LABELS, max_size=3))), forbid=draw(LABELS)
    )
    handler = draw(st.none() | st.sampled_from(["resize", "mail"]))
    # Faults are not of interest here: what cannot be published must match equally all the same.
    return compile_placement(definition, "command" if handler is None else "handler", handler, Faults("$"))


CASES = st.lists(
    st.tuples(placements(), LABELS, st.lists(st.sampled_from(["command", "handler"]), unique=True), HANDLERS),
    min_size=1,
    max_size=50,
)


@MANY
@given(cases=CASES)
def test_a_placement_matches_the_same_sessions_on_both_sides(database: ScratchDatabase, cases: Any) -> None:
    asked = [{"p": p, "l": labels, "e": executors, "h": handlers} for p, labels, executors, handlers in cases]
    rows = database.rows(
        """
        SELECT tenure.placement_matches(c -> 'p', c -> 'l', ARRAY(SELECT jsonb_array_elements_text(c -> 'e')),
                                        ARRAY(SELECT jsonb_array_elements_text(c -> 'h'))) AS matches
        FROM jsonb_array_elements($1::text::jsonb) WITH ORDINALITY AS x (c, position) ORDER BY position
        """,
        json.dumps(asked),
    )
    assert [row["matches"] for row in rows] == [matches(*case) for case in cases]


@st.composite
def policies(draw: st.DrawFn) -> RetryPolicy:
    attempts = draw(st.integers(1, 4))
    delays = draw(st.lists(st.integers(0, 10**9), min_size=attempts - 1, max_size=attempts - 1))
    rule: st.SearchStrategy[ExitRule] = st.sampled_from(["retry", "fail"])
    codes = st.sampled_from(["1", "64", "75", "-9"])
    return RetryPolicy(
        max_attempts=attempts,
        on_failed=draw(st.booleans()),
        on_timed_out=draw(st.booleans()),
        safety=draw(st.sampled_from(["unknown", "idempotent"])),
        delays_us=tuple(delays),
        exit_codes=draw(st.dictionaries(codes, rule, max_size=3)),
    )


@pytest.fixture
def policy_run(database: ScratchDatabase) -> ScratchDatabase:
    """A database with one run, whose policy a test replaces."""
    seed = Seed(database)
    seed.task("report")
    seed.run("report")
    return database


@MANY
@given(policy=policies())
def test_a_reported_end_is_retried_by_both_or_by_none(
    policy_run: ScratchDatabase, policy: RetryPolicy
) -> None:
    store_policy(policy_run, policy)
    cases = [
        (cause, tries, exit_code)
        for cause in ("failed", "timed_out")
        for tries in range(1, policy.max_attempts + 2)
        for exit_code in (None, 0, 1, 64, 75, -9)
    ]
    rows = policy_run.rows(
        "SELECT tenure.retry_delay_us((SELECT run FROM tenure.runs), i.cause, i.tries, i.exit_code) AS delay"
        " FROM unnest($1::text[], $2::int[], $3::int[]) WITH ORDINALITY"
        " AS i (cause, tries, exit_code, position) ORDER BY position",
        *map(list, zip(*cases, strict=True)),
    )
    decided = [decide_retry(policy, cause, tries, exit_code) for cause, tries, exit_code in cases]  # type: ignore[arg-type]
    assert [row["delay"] for row in rows] == [
        decision.delay_us if isinstance(decision, Retry) else None for decision in decided
    ]


def store_policy(database: ScratchDatabase, policy: RetryPolicy) -> None:
    """Make it the policy of the only run, as an admission copies it."""
    database.rows(
        "UPDATE tenure.run_retry_policies p SET max_attempts = n.max_attempts, on_failed = n.on_failed,"
        " on_timed_out = n.on_timed_out, safety = n.safety, delays_us = n.delays_us,"
        " exit_codes = n.exit_codes"
        " FROM jsonb_populate_record(NULL::tenure.run_retry_policies, $1::text::jsonb) n",
        msgspec.json.encode(policy).decode(),
    )
