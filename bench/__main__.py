"""`python -m bench`: measure, print the tables, write bench/report.json."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench import machine, renewal
from bench.bar import judge
from bench.measurement import measure_rounds
from bench.report import Report
from bench.stack import ROOT, Stack, open_stack


@dataclass(frozen=True)
class Effort:
    """How much is measured: `seconds` are those of one measurement; each worker has one connection."""

    rounds: int
    seconds: float
    workers: int = 64
    leases: int = 32


FULL = Effort(rounds=7, seconds=4)
QUICK = Effort(rounds=5, seconds=1)


def measure(effort: Effort, root: Path = ROOT) -> Report:
    """Start everything in the folder `root`, measure in rounds, judge."""
    facts = machine.describe()
    with open_stack(effort.workers, effort.leases, root) as stack:
        found = measure_rounds(renewal.measures(stack), effort.rounds, effort.seconds)
        facts |= _database_facts(stack)
    bars = [judge(bar, found) for bar in renewal.BARS]
    return Report(facts, effort.rounds, effort.seconds, found, bars)


def _database_facts(stack: Stack) -> dict[str, object]:
    return {
        "PostgreSQL": stack.database.value("SHOW server_version"),
        "fsync": stack.database.value("SHOW fsync"),
        "synchronous_commit": stack.database.value(
            "SELECT reset_val FROM pg_settings WHERE name = 'synchronous_commit'"
        ),
    }


def main(arguments: Sequence[str]) -> int:
    """The exit code: 1 when something could not be measured; with --strict also when a bar is not reached."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer and shorter rounds, under a minute")
    parser.add_argument("--strict", action="store_true", help="fail when a bar is below what it must reach")
    parser.add_argument("--report", type=Path, default=Path("bench/report.json"), help="where to write it")
    chosen = parser.parse_args(arguments)
    report = measure(QUICK if chosen.quick else FULL)
    report.write(chosen.report)
    print(report.text())
    return 0 if (report.holds if chosen.strict else report.is_complete) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
