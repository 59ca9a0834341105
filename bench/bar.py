"""Bars: what a measurement must reach, compared with another one of the same rounds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Literal, TypeAlias

from bench.measurement import Series

Verdict: TypeAlias = Literal["aim", "reached", "below", "not measured"]


@dataclass(frozen=True)
class Bar:
    """`measured` ÷ `reference`, both names of measurements: what it must reach, and what it aims at."""

    name: str
    title: str
    measured: str
    reference: str
    must: float
    aim: float


@dataclass(frozen=True)
class Result:
    """What became of a bar. `ratios` are those of each round, `ratio` their median; None: see `reason`."""

    name: str
    title: str
    must: float
    aim: float
    verdict: Verdict
    ratio: float | None = None
    ratios: Sequence[float] = ()
    reason: str | None = None


def judge(bar: Bar, found: Mapping[str, Series]) -> Result:
    """Compare round by round: only what was measured side by side says anything on a busy machine."""
    measured, reference = found[bar.measured], found[bar.reference]
    if missing := measured.missing or reference.missing:
        return Result(bar.name, bar.title, bar.must, bar.aim, "not measured", reason=missing)
    ratios = [ours / theirs for ours, theirs in zip(measured.rates, reference.rates, strict=True)]
    ratio = median(ratios)
    return Result(bar.name, bar.title, bar.must, bar.aim, _verdict(bar, ratio), ratio, ratios)


def _verdict(bar: Bar, ratio: float) -> Verdict:
    if ratio >= bar.aim:
        return "aim"
    return "reached" if ratio >= bar.must else "below"
