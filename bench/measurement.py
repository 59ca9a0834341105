"""Measuring in rounds: everything once a round, so that what one is compared with was measured beside it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias


@dataclass(frozen=True)
class Reading:
    """What one measurement found: how many a second, and facts worth a look beside it."""

    rate: float
    facts: Mapping[str, float] = field(default_factory=dict)


class MissingError(Exception):
    """Something that a measurement needs is not on this machine; the text says what."""


Measure: TypeAlias = Callable[[float], Reading]
"""Measures for so many seconds. Raises MissingError."""


@dataclass
class Series:
    """The readings of one measurement, one a round; or why there are none."""

    readings: list[Reading] = field(default_factory=list)
    missing: str | None = None

    @property
    def rates(self) -> list[float]:
        """How many a second, round by round."""
        return [reading.rate for reading in self.readings]


def measure_rounds(measures: Mapping[str, Measure], rounds: int, seconds: float) -> dict[str, Series]:
    """Take every measurement once a round, each for `seconds`; a missing one is not asked again.

    Every other round goes backwards, so that a machine that grows slower is unfair to nobody.
    """
    found = {name: Series() for name in measures}
    for name in _order(list(measures), rounds):
        series = found[name]
        if series.missing is None:
            _take(series, measures[name], seconds)
    return found


def _order(names: Sequence[str], rounds: int) -> Iterator[str]:
    for number in range(rounds):
        yield from reversed(names) if number % 2 else names


def _take(series: Series, measure: Measure, seconds: float) -> None:
    try:
        series.readings.append(measure(seconds))
    except MissingError as error:
        series.missing = str(error)
