"""Retry: compilation to a table of delays, and the decision, completely."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure_contracts.fault import DefinitionErrors, Faults
from tenure_contracts.policy import (
    BackoffDefinition,
    GiveUp,
    Retry,
    RetryDefinition,
    RetryPolicy,
    compile_retry,
    decide_retry,
)

SECOND = 1_000_000


def compiled(**fields: object) -> RetryPolicy:
    faults = Faults()
    policy = compile_retry(RetryDefinition(**fields), faults, seed="t")  # type: ignore[arg-type]
    faults.raise_if_any()
    return policy


def faults_of(**fields: object) -> dict[str, str]:
    with pytest.raises(DefinitionErrors) as caught:
        compiled(**fields)
    return {error.path: error.reason for error in caught.value.errors}


def test_no_definition_is_one_try() -> None:
    assert compile_retry(None, Faults()) == RetryPolicy()
    assert compiled() == RetryPolicy(on_failed=True)


def test_the_table_of_delays_is_capped() -> None:
    backoff = BackoffDefinition(base="2s", factor=2, cap="5s")
    assert compiled(max_attempts=5, backoff=backoff).delays_us == tuple(n * SECOND for n in (2, 4, 5, 5))


@pytest.mark.parametrize("factor", [1.5, "1.5", "1.50"])
def test_factors_are_decimals(factor: float | str) -> None:
    backoff = BackoffDefinition(base="2s", factor=factor)
    assert compiled(max_attempts=3, backoff=backoff).delays_us == (2 * SECOND, 3 * SECOND)


@given(st.integers(1, 16), st.integers(0, 100), st.integers(0, 100))
def test_jitter_only_shortens_and_is_reproducible(attempts: int, base: int, jitter: int) -> None:
    plain = BackoffDefinition(base=f"{base}s", cap="10m")
    jittered = BackoffDefinition(base=f"{base}s", cap="10m", jitter=f"{jitter / 100:.2f}")
    delays = compiled(max_attempts=attempts, backoff=jittered).delays_us
    full = compiled(max_attempts=attempts, backoff=plain).delays_us
    assert len(delays) == attempts - 1
    assert delays == compiled(max_attempts=attempts, backoff=jittered).delays_us
    for delay, longest in zip(delays, full, strict=True):
        assert longest - longest * jitter // 100 - 1 <= delay <= longest


def test_lost_needs_declared_safety() -> None:
    reason = faults_of(max_attempts=2, on=("failed", "lost"))["$.on"]
    assert "may have done its work" in reason
    for safety in ("idempotent", "deduplicated"):
        assert compiled(max_attempts=2, on=("lost",), safety=safety).on_lost


def test_faults_are_collected() -> None:
    backoff = BackoffDefinition(base="10m", cap="1m", factor="x", jitter=2)
    found = faults_of(max_attempts=17, on=("failed", "failed"), backoff=backoff)
    assert set(found) == {
        "$.max_attempts",
        "$.on",
        "$.backoff.base",
        "$.backoff.factor",
        "$.backoff.jitter",
    }
    assert "$.max_attempts" in faults_of(max_attempts=0)
    assert "$.backoff.base" in faults_of(backoff=BackoffDefinition(base="soon"))
    assert "$.backoff.factor" in faults_of(backoff=BackoffDefinition(factor=float("inf")))


def test_the_decision_completely() -> None:
    causes = ("failed", "timed_out", "lost")
    safeties = ("unknown", "idempotent", "deduplicated")
    rules: tuple[dict[str, str], ...] = ({}, {"75": "retry"}, {"75": "fail"})
    for cause, listed, safety, tries, reported, rule in itertools.product(
        causes, (False, True), safeties, (1, 2, 3, 4), (False, True), rules
    ):
        policy = RetryPolicy(
            max_attempts=3,
            on_failed=listed,
            on_timed_out=listed,
            on_lost=listed,
            safety=safety,  # type: ignore[arg-type]
            delays_us=(10, 20),
            exit_codes=rule,  # type: ignore[arg-type]
        )
        by_report = reported and cause != "lost"
        ruled = rule.get("75") if by_report and cause == "failed" else None
        decision = decide_retry(policy, cause, tries, 75, reported=reported)  # type: ignore[arg-type]
        if ruled == "fail" or (ruled is None and not listed):
            assert decision == GiveUp("retry_disabled")
        elif not by_report and safety == "unknown":
            assert decision == GiveUp("retry_unsafe")
        elif tries >= 3:
            assert decision == GiveUp("retry_exhausted")
        else:
            assert decision == Retry((10, 20)[tries - 1])


def test_without_a_policy_nothing_is_retried() -> None:
    assert decide_retry(None, "lost", 1) == GiveUp("retry_disabled")


def test_an_end_before_the_barrier_waits_like_the_first_try() -> None:
    policy = RetryPolicy(max_attempts=2, on_failed=True, delays_us=(7,))
    assert decide_retry(policy, "failed", 0) == Retry(7)
