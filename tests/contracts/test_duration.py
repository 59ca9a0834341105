"""Durations: one strict grammar, and errors that show what was read."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure_contracts.duration import DurationError, format_duration, parse_duration

SECOND = 1_000_000


@pytest.mark.parametrize(
    ("text", "duration_us"),
    [
        ("90s", 90 * SECOND),
        ("15m", 900 * SECOND),
        ("2h30m", 9000 * SECOND),
        ("500ms", SECOND // 2),
        ("30d", 30 * 86_400 * SECOND),
        ("1d2h3m4s5ms", (86_400 + 7200 + 180 + 4) * SECOND + 5000),
        ("0s", 0),
        ("1m500ms", 60_500_000),
    ],
)
def test_durations(text: str, duration_us: int) -> None:
    assert parse_duration(text) == duration_us


REFUSED = """90|s|-1s|+1s|1.5h|1 s| 1s|1s |30m2h|1s1s|1H|1S|1min|1us|01s|1e3s|٣s|1h 30m|PT1H|1s500|1w
9999999999999s"""


@pytest.mark.parametrize("text", ["", "1s\n", "1m\0", *REFUSED.replace("\n", "|").split("|")])
def test_everything_else_is_refused_and_shown(text: str) -> None:
    with pytest.raises(DurationError) as caught:
        parse_duration(text)
    assert repr(text) in str(caught.value)
    assert "2h30m" in str(caught.value)


@given(st.integers(min_value=0, max_value=10**12))
def test_round_trip_of_whole_milliseconds(milliseconds: int) -> None:
    assert parse_duration(format_duration(milliseconds * 1000)) == milliseconds * 1000


@given(st.text(alphabet="0123456789dhms ", max_size=12))
def test_what_is_read_is_written_the_same_or_shorter(text: str) -> None:
    try:
        duration_us = parse_duration(text)
    except DurationError:
        return
    assert parse_duration(format_duration(duration_us)) == duration_us


def test_a_duration_has_no_sign() -> None:
    with pytest.raises(DurationError):
        format_duration(-1)
