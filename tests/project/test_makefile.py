"""The Makefile's targets: each said in one line of `make help`, and told to readers of the README."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.project.place import ROOT, tool

PHONY = re.compile(r"^\.PHONY: (\S+)$", re.MULTILINE)
TARGETS = PHONY.findall((ROOT / "Makefile").read_text())


def _make(*arguments: str, cwd: Path = ROOT, **environment: str) -> subprocess.CompletedProcess[str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    return subprocess.run(
        [tool("make"), *arguments],
        cwd=cwd,
        env=clean | environment,
        capture_output=True,
        text=True,
        timeout=30,
    )


def test_help_names_every_target() -> None:
    listed = [line.split()[0] for line in _make("help").stdout.splitlines()]

    assert listed == TARGETS


@pytest.mark.parametrize("target", TARGETS)
def test_the_readme_tells_of_the_target(target: str) -> None:
    readme = (ROOT / "README.md").read_text()

    assert re.search(rf"\bmake {target}\b", readme), f"README.md does not say what `make {target}` does"


@pytest.mark.parametrize("target", TARGETS)
def test_every_recipe_expands(target: str) -> None:
    dry = _make("--dry-run", "UNDER_LOCK=", target)

    assert dry.returncode == 0, dry.stderr


def test_a_machine_without_a_suitable_python_is_told_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "Makefile").write_text((ROOT / "Makefile").read_text())
    for name in ("requirements-dev.txt", "pyproject.toml"):
        (tmp_path / name).touch()

    answer = _make("UV=", "UNDER_LOCK=", "FIRST_SUITABLE=true", "environment", cwd=tmp_path)

    assert answer.returncode != 0
    assert "No Python 3.11, 3.12 or 3.13" in answer.stderr


@pytest.mark.parametrize("stub", ["exit 127", "exit 1"])
def test_a_name_on_path_that_does_not_run_is_passed_over(tmp_path: Path, stub: str) -> None:
    """As a version switcher's stub of a Python that is not installed."""
    switcher = tmp_path / "python3.13"
    switcher.write_text(f"#!/bin/sh\n{stub}\n")
    switcher.chmod(0o755)

    plan = _make(
        "--dry-run",
        "UV=",
        "UNDER_LOCK=",
        "VENV=absent",
        "absent/.project",
        PATH=f"{tmp_path}:{os.environ['PATH']}",
    )

    assert "-m venv --clear absent" in plan.stdout, plan.stderr
    assert "python3.13 -m venv" not in plan.stdout
