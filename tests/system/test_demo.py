"""The demo is what a newcomer sees first, so it is run as they run it."""

from __future__ import annotations

import re
import subprocess
import sys

from tests.system.stack import ROOT, clean_environment


def test_the_demo_ends_as_expected() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tenure.dev.demo"],
        cwd=ROOT,
        env=clean_environment(),
        capture_output=True,
        text=True,
        timeout=110,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    last = re.fullmatch(r"demo: (\d+) of (\d+) as expected", done.stdout.splitlines()[-1])
    assert last is not None
    assert last[1] == last[2]
