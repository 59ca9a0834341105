"""The report of a run: the same facts as a file to compare and as tables to read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import msgspec

from bench.bar import Result
from bench.measurement import Series


@dataclass(frozen=True)
class Report:
    """One run: where, how, what was found, and what it means."""

    machine: Mapping[str, object]
    rounds: int
    seconds: float
    measurements: Mapping[str, Series]
    bars: Sequence[Result]

    @property
    def is_complete(self) -> bool:
        """Whether everything could be measured."""
        return all(bar.verdict != "not measured" for bar in self.bars)

    @property
    def holds(self) -> bool:
        """Whether every bar was measured and reached."""
        return all(bar.verdict in {"aim", "reached"} for bar in self.bars)

    def write(self, path: Path) -> None:
        """Write it as JSON."""
        path.write_bytes(msgspec.json.format(msgspec.json.encode(self)) + b"\n")

    def text(self) -> str:
        """The tables."""
        return "\n".join((*self._where(), "", *self._measurements(), "", *self._bars()))

    def _where(self) -> Iterator[str]:
        yield ", ".join(f"{name} {value}" for name, value in self.machine.items())
        yield f"medians of {self.rounds} rounds of {self.seconds:g} s, interleaved"

    def _measurements(self) -> Iterator[str]:
        for name, series in self.measurements.items():
            if series.missing:
                yield f"{name:<46}  not measured: {series.missing}"
                continue
            yield f"{name:<46}  {median(series.rates):>9.0f}/s  ({_range(series.rates, 0)})"
            yield from _facts(series)

    def _bars(self) -> Iterator[str]:
        for bar in self.bars:
            yield f"{bar.name:<4}{bar.title:<66}{_figure(bar)}"


def _facts(series: Series) -> Iterator[str]:
    names = series.readings[0].facts
    medians = {name: median(reading.facts[name] for reading in series.readings) for name in names}
    if medians:
        yield "    " + ", ".join(f"{name} {value:.2f}" for name, value in medians.items())


def _figure(bar: Result) -> str:
    wanted = f"must {bar.must:g}, aim {bar.aim:g}"
    if bar.ratio is None:
        return f"    -  {wanted}: {bar.verdict}, {bar.reason}"
    return f"{bar.ratio:>5.2f}  ({_range(bar.ratios, 2)})  {wanted}: {bar.verdict}"


def _range(values: Sequence[float], digits: int) -> str:
    return f"{min(values):.{digits}f} - {max(values):.{digits}f}"
