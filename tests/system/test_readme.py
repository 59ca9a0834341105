"""The first run by hand, word for word as the README has it."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

from tests.system.stack import ROOT, clean_environment


def test_the_first_run_by_hand_goes_as_the_readme_says(tmp_path: Path) -> None:
    section = (ROOT / "README.md").read_text().partition("## A first run by hand")[2].partition("## ")[0]
    block = [line for line in section.splitlines() if line.startswith("    ")]
    script = textwrap.dedent("\n".join(block))
    assert script.startswith("make up\n")
    assert script.endswith("\nmake down")
    # What make does with .venv is tested with the tree; here is the stack of another folder.
    script = script.replace("make up", "tenure dev --background").replace("make down", "tenure dev --stop")
    for name in ("docs", "shared"):
        (tmp_path / name).symlink_to(ROOT / name)
    environment = clean_environment()
    environment["PATH"] = f"{Path(sys.executable).parent}:{environment['PATH']}"
    done = subprocess.run(
        ["sh", "-eu", "-c", script],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=110,
    )
    log = tmp_path / ".tenure" / "w1.log"
    assert done.returncode == 0, done.stdout + done.stderr + (log.read_text() if log.exists() else "")
    assert " succeeded\n" in done.stdout
    assert "output of attempt 1:" in done.stdout
    assert done.stdout.splitlines()[-1].startswith("the stack is down")
