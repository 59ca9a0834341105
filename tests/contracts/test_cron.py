"""Misfire decisions, macros and jitter."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure_contracts.cron import MACROS, decide_misfire, expand_macro, jitter_us

NOW = datetime(2026, 12, 1, 2, 30, tzinfo=UTC)
GRACE_US = 30_000_000


@pytest.mark.parametrize(
    ("late_s", "fire_once", "skip"),
    [
        (-1, "initialize", "initialize"),
        (0, "admit", "admit"),
        (30, "admit", "admit"),
        (30.000001, "admit", "skip"),
        (86_400, "admit", "skip"),
    ],
)
def test_misfire(late_s: float, fire_once: str, skip: str) -> None:
    due = NOW - timedelta(seconds=late_s)
    assert decide_misfire(due, NOW, GRACE_US, "fire_once") == fire_once
    assert decide_misfire(due, NOW, GRACE_US, "skip") == skip


def test_a_cursor_without_a_time_is_initialised() -> None:
    assert decide_misfire(None, NOW, 0, "skip") == "initialize"


def test_macros() -> None:
    for macro, expression in MACROS.items():
        assert expand_macro(macro) == expression
        assert len(expression.split()) == 5
    assert expand_macro("*/5 * * * *") == "*/5 * * * *"
    for wrong in ("@never", "@reboot", "@Hourly", "@hourly "):
        with pytest.raises(ValueError, match="is not one of the macros"):
            expand_macro(wrong)


@given(st.integers(0, 300_000_000), st.integers(0, 10**6))
def test_jitter_is_bounded_and_the_same_everywhere(jitter_max_us: int, minute: int) -> None:
    occurrence = NOW + timedelta(minutes=minute)
    jitter = jitter_us("shop/nightly", occurrence, jitter_max_us)
    assert 0 <= jitter <= jitter_max_us
    elsewhere = occurrence.astimezone()
    assert jitter_us("shop/nightly", elsewhere, jitter_max_us) == jitter


def test_jitter_spreads() -> None:
    first = {jitter_us("a", NOW + timedelta(hours=n), 300_000_000) for n in range(50)}
    assert len(first) == 50
    assert jitter_us("a", NOW, 300_000_000) != jitter_us("b", NOW, 300_000_000)
