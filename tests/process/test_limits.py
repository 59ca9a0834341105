"""Limits as settings: every one has a name, a unit and a range around its default."""

from __future__ import annotations

import dataclasses

import pytest

from tenure_http import Limits
from tenure_process.limits import RANGES, limit_name, read_limits
from tenure_process.settings import Reader, SettingsError

FIELDS = [field.name for field in dataclasses.fields(Limits)]


def read(**environ: str) -> Limits:
    reader = Reader({f"P_LIMIT_{name}": text for name, text in environ.items()}, "P_")
    limits = read_limits(reader, "P_")
    reader.check()
    return limits


def test_every_limit_has_a_range_around_its_default() -> None:
    assert set(RANGES) == set(FIELDS)
    for name, (low, high) in RANGES.items():
        assert 0 < low <= getattr(Limits(), name) <= high


def test_what_is_not_given_is_as_by_default() -> None:
    assert read() == Limits()


def test_values_have_units() -> None:
    limits = read(HEADER_TIME="1500ms", AGE="1h", HEADERS="100", AGE_JITTER="20%")
    assert limits == Limits(header_time_s=1.5, age_s=3600, headers=100, age_jitter=0.2)


@pytest.mark.parametrize("field", FIELDS)
def test_every_limit_is_refused_beyond_its_range(field: str) -> None:
    with pytest.raises(SettingsError, match=f"P_{limit_name(field)} must be"):
        read(**{limit_name(field).removeprefix("LIMIT_"): "0s" if field.endswith("_s") else "0"})


@pytest.mark.parametrize(("name", "value"), [("AGE_JITTER", "0.1"), ("AGE", "1"), ("AGE", "2d")])
def test_what_has_no_unit_or_too_much_of_it_is_refused(name: str, value: str) -> None:
    with pytest.raises(SettingsError, match=f"P_LIMIT_{name}"):
        read(**{name: value})
