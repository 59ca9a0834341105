"""PostgreSQL's own benchmark: what the database alone does, with a client that costs next to nothing."""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from bench.measurement import MissingError
from tenure.embedded.binaries import find_binaries

THREADS = 2


@dataclass(frozen=True)
class Script:
    """What each of `clients` sends all the time, prepared once; `variables` are its parameters by name."""

    text: str
    clients: int
    variables: Mapping[str, str]


def run_pgbench(dsn: str, script: Script, seconds: float) -> float:
    """Transactions a second, without the time to connect. Whole seconds: that is how pgbench counts.

    Raises MissingError when the machine has no pgbench, and RuntimeError when a statement failed.
    """
    program = _find()
    with tempfile.NamedTemporaryFile("w", suffix=".sql") as file:
        file.write(script.text)
        file.flush()
        options = [f"--define={name}={value}" for name, value in script.variables.items()]
        how = [f"--client={script.clients}", f"--jobs={THREADS}", f"--time={max(1, round(seconds))}"]
        command = [
            str(program),
            "--no-vacuum",
            "--protocol=prepared",
            *how,
            *options,
            f"--file={file.name}",
            dsn,
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    found = re.search(r"^tps = ([0-9.]+)", done.stdout, re.MULTILINE)
    failed = re.search(r"failed transactions: [1-9].*", done.stdout)
    if done.returncode or not found or failed:
        raise RuntimeError(f"pgbench failed: {failed or done.stderr}")
    return float(found[1])


def _find() -> Path:
    program = find_binaries() / "pgbench"
    if not program.exists():
        raise MissingError(
            f"{program} does not exist: set PG_BINDIR to a PostgreSQL that has its own benchmark"
        )
    return program
