"""One tiny round of the real thing, so that the benchmark does not rot. What it finds is never judged."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from bench.__main__ import Effort, measure
from bench.renewal import BARS, FUNCTION, MANY, SINGLE, UPDATE
from bench.report import Report


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Report:
    """What a tiny round finds."""
    effort = Effort(rounds=1, seconds=0.2, workers=8, leases=3)
    return measure(effort, tmp_path_factory.mktemp("bench") / "stack")


def test_a_tiny_round_measures_everything(report: Report) -> None:
    assert report.is_complete
    assert [bar.name for bar in report.bars] == [bar.name for bar in BARS]
    assert list(report.measurements) == [FUNCTION, SINGLE, MANY, UPDATE]
    for series in report.measurements.values():
        (rate,) = series.rates
        assert rate > 0


def test_commits_are_durable(report: Report) -> None:
    assert (report.machine["fsync"], report.machine["synchronous_commit"]) == ("on", "on")


def test_the_facts_beside_a_rate_are_possible(report: Report) -> None:
    facts = report.measurements[MANY].readings[0].facts

    assert facts["leases a request"] == 3
    assert 3 <= facts["leases per call"] <= 8 * 3
    assert 0 < facts["p50 ms"] <= facts["p99 ms"]


def test_the_report_is_the_same_as_a_file_and_as_a_table(report: Report, tmp_path: Path) -> None:
    report.write(tmp_path / "report.json")

    written = msgspec.json.decode((tmp_path / "report.json").read_bytes())
    ratio = report.measurements[SINGLE].rates[0] / report.measurements[FUNCTION].rates[0]
    assert written["bars"][0]["ratio"] == ratio
    assert f"{ratio:.2f}" in report.text()
