"""The development stack as a person uses it: commands in a folder, nothing imported."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tenure.where import parse_env
from tests.harness.secrecy import SECRECY

ROOT = Path(__file__).parents[2]
PATIENCE_S = 30.0


@dataclass(frozen=True)
class Stack:
    """A stack below a folder."""

    folder: Path

    @property
    def env(self) -> dict[str, str]:
        """What a shell that sourced `.tenure/env` has."""
        return parse_env((self.folder / ".tenure" / "env").read_text())

    def tenure(
        self, *arguments: str, cwd: Path | None = None, environment: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run one command where the stack is found by itself; `environment` is added to ours."""
        done = subprocess.run(
            [sys.executable, "-m", "tenure", *arguments],
            cwd=cwd or self.folder,
            env=clean_environment() | dict(environment or {}),
            capture_output=True,
            text=True,
            timeout=100,
        )
        SECRECY.hear(f"tenure {' '.join(arguments[:2])}", done.stderr)
        return done

    def say(self, *arguments: str, environment: Mapping[str, str] | None = None) -> str:
        """Run a command that must succeed; what it printed."""
        done = self.tenure(*arguments, environment=environment)
        assert done.returncode == 0, f"{arguments}: {done.returncode}\n{done.stdout}{done.stderr}"
        return done.stdout.strip()

    def pid(self, process: str) -> int:
        """The process id of a part that runs."""
        return int((self.folder / ".tenure" / f"{process}.pid").read_text())

    def log(self, process: str) -> str:
        """What a part wrote so far."""
        return (self.folder / ".tenure" / "log" / f"{process}.log").read_text()

    @contextmanager
    def worker(self, name: str, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
        """A worker process for the block; drained at its end."""
        token = self.say("worker", "enroll", name)
        command = [sys.executable, "-m", "tenure", "worker", "run", "--name", name, *arguments]
        command += ["--journal", str(self.folder / f"journal-{name}")]
        environment = clean_environment() | {"TENURE_WORKER_TOKEN": token}
        with (self.folder / f"worker-{name}.log").open("ab") as log:
            process = subprocess.Popen(command, cwd=self.folder, env=environment, stdout=log, stderr=log)
        try:
            yield process
        finally:
            process.terminate()
            process.wait(PATIENCE_S)


def clean_environment() -> dict[str, str]:
    """Ours, without any setting of Tenure; a machine without an id of its own gets one."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("TENURE_")}
    return inherited | {"TENURE_MACHINE_ID": "test", "PYTHONPATH": str(ROOT)}


@contextmanager
def running_stack(folder: Path, *arguments: str) -> Iterator[Stack]:
    """A stack below `folder` for the block."""
    stack = Stack(folder)
    stack.say("dev", "--background", *arguments)
    try:
        yield stack
    finally:
        stack.say("dev", "--stop")


def wait_until(condition: object, what: str) -> None:
    """Wait for a condition (a callable), looking every 50 ms."""
    assert callable(condition)
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, f"not within {PATIENCE_S:g} s: {what}"
        time.sleep(0.05)
