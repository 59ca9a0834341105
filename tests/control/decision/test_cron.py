"""Cron as the wrapper gives it: daylight saving, day rules, macros, and expressions that never fire."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from cronsim import CronSim
from hypothesis import given, settings
from hypothesis import strategies as st

from tenure_control.decision.cron import CronError, check_expression, next_fires

BERLIN, SANTIAGO, LORD_HOWE, UTC_ZONE = "Europe/Berlin", "America/Santiago", "Australia/Lord_Howe", "UTC"


def fires(cron: str, zone: str, after: str, count: int) -> list[str]:
    """Local times with their offsets, from a local time on."""
    start = datetime.fromisoformat(after).replace(tzinfo=ZoneInfo(zone))
    found = next_fires(cron, zone, start, count)
    assert all(fire.utcoffset() == timedelta() for fire in found)
    return [fire.astimezone(ZoneInfo(zone)).isoformat(timespec="minutes") for fire in found]


DAYLIGHT = [
    # A time that does not exist fires once, at the first valid instant after the gap.
    ("30 2 * * *", BERLIN, "2026-03-28T12:00", ["2026-03-29T03:00+02:00", "2026-03-30T02:30+02:00"]),
    ("0 30 2 * * *", BERLIN, "2026-03-28T12:00", ["2026-03-29T03:00+02:00", "2026-03-30T02:30+02:00"]),
    ("15,45 2 * * *", BERLIN, "2026-03-28T12:00", ["2026-03-29T03:00+02:00", "2026-03-30T02:15+02:00"]),
    # C39: midnight that does not exist.
    ("0 0 * * *", SANTIAGO, "2026-09-05T12:00", ["2026-09-06T01:00-03:00", "2026-09-07T00:00-03:00"]),
    ("@daily", SANTIAGO, "2026-09-05T12:00", ["2026-09-06T01:00-03:00", "2026-09-07T00:00-03:00"]),
    # Lord Howe shifts by half an hour.
    ("15 2 * * *", LORD_HOWE, "2026-10-03T12:00", ["2026-10-04T02:30+11:00", "2026-10-05T02:15+11:00"]),
    ("45 1 * * *", LORD_HOWE, "2026-04-04T12:00", ["2026-04-05T01:45+11:00", "2026-04-06T01:45+10:30"]),
    # C35: a time that exists twice fires once, at the first of the two.
    ("30 2 * * *", BERLIN, "2026-10-24T12:00", ["2026-10-25T02:30+02:00", "2026-10-26T02:30+01:00"]),
    ("0 30 2 * * *", BERLIN, "2026-10-24T12:00", ["2026-10-25T02:30+02:00", "2026-10-26T02:30+01:00"]),
    # Samoa left out a day.
    (
        "0 12 30 12 *",
        "Pacific/Apia",
        "2011-12-01T00:00",
        ["2011-12-31T00:00+14:00", "2012-12-30T12:00+14:00"],
    ),
]


@pytest.mark.parametrize(("cron", "zone", "after", "expected"), DAYLIGHT)
def test_a_time_fires_once_on_the_days_that_clocks_change(
    cron: str, zone: str, after: str, expected: list[str]
) -> None:
    assert fires(cron, zone, after, len(expected)) == expected


def test_c37_an_hourly_rule_fires_25_times_on_the_long_day() -> None:
    long_day = fires("0 * * * *", BERLIN, "2026-10-24T23:59", 25)
    assert long_day[0] == "2026-10-25T00:00+02:00"
    assert long_day[2:4] == ["2026-10-25T02:00+02:00", "2026-10-25T02:00+01:00"]
    assert long_day[-1] == "2026-10-25T23:00+01:00"


def test_a_step_means_the_even_local_hours() -> None:
    assert fires("0 */2 * * *", BERLIN, "2026-10-24T23:59", 4) == [
        "2026-10-25T00:00+02:00",
        "2026-10-25T02:00+02:00",
        "2026-10-25T02:00+01:00",
        "2026-10-25T04:00+01:00",
    ]


def test_no_occurrence_is_past_when_asked_inside_the_second_pass() -> None:
    second_pass = datetime(2026, 10, 25, 1, 10, tzinfo=UTC)
    assert second_pass.astimezone(ZoneInfo(BERLIN)).fold == 1
    (fire,) = next_fires("30 2 * * *", BERLIN, second_pass, 1)
    assert fire == datetime(2026, 10, 26, 1, 30, tzinfo=UTC)


NEVER = ["0 0 30 2 *", "0 0 31 2,4,6,9,11 *", "0 0 0 30 2 *", "0 0 LW * */6"]


@pytest.mark.parametrize("cron", NEVER)
def test_c41_what_can_never_fire_is_refused_quickly(cron: str) -> None:
    fastest = float("inf")
    for _ in range(3):  # the machine may be busy; the computation must be able to be fast
        began = time.perf_counter()
        with pytest.raises(CronError, match="can never fire"):
            check_expression(cron, BERLIN)
        fastest = min(fastest, time.perf_counter() - began)
    assert fastest < 0.2


def test_c41_a_leap_day_is_waited_for() -> None:
    assert fires("0 0 29 2 *", UTC_ZONE, "2096-03-01T00:00", 1) == ["2104-02-29T00:00+00:00"]
    check_expression("0 0 29 2 *", UTC_ZONE)


C43 = [
    # Day of month and day of week: either matches, unless one begins with a star.
    ("0 0 1-31 * 4", "2026-12-01T00:00", ["2026-12-02", "2026-12-03", "2026-12-04"]),
    ("0 0 */7 * *", "2026-12-01T00:00", ["2026-12-08", "2026-12-15", "2026-12-22"]),
    ("0 0 */7 * 2", "2026-12-01T00:00", ["2026-12-08", "2026-12-15", "2026-12-22"]),
    ("0 0 13 * 5", "2026-12-01T00:00", ["2026-12-04", "2026-12-11", "2026-12-13"]),
    ("0 0 * * 7", "2026-12-01T00:00", ["2026-12-06", "2026-12-13", "2026-12-20"]),
    ("0 0 * * sun", "2026-12-01T00:00", ["2026-12-06", "2026-12-13", "2026-12-20"]),
    ("0 0 1 jan,jul *", "2026-12-01T00:00", ["2027-01-01", "2027-07-01", "2028-01-01"]),
    ("0 0 L * *", "2026-12-01T00:00", ["2026-12-31", "2027-01-31", "2027-02-28"]),
    ("0 0 LW * *", "2027-01-01T00:00", ["2027-01-29", "2027-02-26", "2027-03-31"]),
    ("0 0 * * 1#2", "2026-12-01T00:00", ["2026-12-14", "2027-01-11", "2027-02-08"]),
    ("0 0 * * 5L", "2026-12-01T00:00", ["2026-12-25", "2027-01-29", "2027-02-26"]),
    ("@weekly", "2026-12-01T00:00", ["2026-12-06", "2026-12-13", "2026-12-20"]),
    ("@monthly", "2026-12-01T00:00", ["2027-01-01", "2027-02-01", "2027-03-01"]),
    ("@yearly", "2026-12-01T00:00", ["2027-01-01", "2028-01-01", "2029-01-01"]),
]


@pytest.mark.parametrize(("cron", "after", "expected"), C43)
def test_c43_days_names_and_macros(cron: str, after: str, expected: list[str]) -> None:
    assert [fire[:10] for fire in fires(cron, UTC_ZONE, after, 3)] == expected


UNREADABLE = [
    ("", "wrong number of fields"),
    ("* * * *", "wrong number of fields"),
    ("60 * * * *", "bad minute"),
    ("0 24 * * *", "bad hour"),
    ("0 0 15W * *", "bad day-of-month"),
    ("0 0 L-3 * *", "bad day-of-month"),
    ("0 0 * 13 *", "bad month"),
    ("0 0 * * 8", "bad day-of-week"),
    ("0 0 * * MON#6", "bad day-of-week"),
    ("*/0 * * * *", "bad minute"),
    ("@sometimes", "is not one of the macros"),
]


@pytest.mark.parametrize(("cron", "reason"), UNREADABLE)
def test_what_is_no_cron_expression_says_which_part(cron: str, reason: str) -> None:
    with pytest.raises(CronError, match=reason):
        check_expression(cron, UTC_ZONE)


FIELDS = st.tuples(
    st.sampled_from(["*", "0", "30", "*/15", "10-20", "5,50"]),
    st.sampled_from(["*", "2", "0", "*/3", "1-3", "23"]),
    st.sampled_from(["*", "1", "*/7", "L", "15,31"]),
    st.sampled_from(["*", "3", "10", "JAN-JUN"]),
    st.sampled_from(["*", "0", "MON-FRI", "SUN#1", "5L"]),
)
ZONES = st.sampled_from(
    [BERLIN, SANTIAGO, LORD_HOWE, "America/New_York", "Asia/Shanghai", "Africa/Casablanca"]
)
MOMENTS = st.datetimes(datetime(2025, 1, 1), datetime(2028, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001


@settings(max_examples=300, deadline=None)
@given(FIELDS, ZONES, MOMENTS)
def test_the_library_is_the_oracle(fields: tuple[str, ...], zone: str, moment: datetime) -> None:
    cron = " ".join(fields)
    expected = (fire.astimezone(UTC) for fire in CronSim(cron, moment.astimezone(ZoneInfo(zone))))
    (fire,) = next_fires(cron, zone, moment, 1)
    assert fire == next(each for each in expected if each > moment)
