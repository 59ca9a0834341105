"""What the tree as a whole keeps to: its licence, and no trace of the machine on which it was written."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
from pathlib import Path

from tests.project.place import ROOT, tool

APACHE_2 = "cfc7749b96f63bd31c3c42b5c471bf756814053e847c10f3eb003417bc523d30"
"""SHA-256 of the licence's text as its authors publish it."""


def _tracked() -> list[Path]:
    """The files of the commit; without a repository (a release archive) those that are there."""
    if not (ROOT / ".git").exists():
        skipped = {".venv", ".tenure"}
        return [p for p in ROOT.rglob("*") if p.is_file() and not skipped & set(p.relative_to(ROOT).parts)]
    listed = subprocess.run(
        [tool("git"), "-c", f"safe.directory={ROOT}", "ls-files", "-z"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    return [path for name in os.fsdecode(listed.stdout).split("\0") if (path := ROOT / name).is_file()]


def test_the_licence_is_the_whole_text() -> None:
    assert hashlib.sha256((ROOT / "LICENSE").read_bytes()).hexdigest() == APACHE_2


def test_no_file_tells_of_a_machine() -> None:
    """Package indexes and private folders of one machine mean nothing, or too much, to anybody else."""
    trace = re.compile(rb"pypi\.org/simple|files\.pythonhosted\.org|registry\.npmjs\.org|/root/\.[a-z]+/")
    itself = Path(__file__).resolve()

    guilty = [
        str(path.relative_to(ROOT))
        for path in _tracked()
        if path != itself and trace.search(path.read_bytes())
    ]

    assert guilty == []


def test_every_continuous_integration_part_is_a_target() -> None:
    parts = re.findall(r"^part \S+ make (\S+)", (ROOT / ".ci" / "run").read_text(), re.MULTILINE)
    targets = re.findall(r"^\.PHONY: (\S+)$", (ROOT / "Makefile").read_text(), re.MULTILINE)

    assert "test" in parts
    assert set(parts) <= set(targets)
