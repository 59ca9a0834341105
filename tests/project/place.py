"""Where the tree is, and how a test asks for a tool that a bare machine may lack."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
REQUIRE_TOOLS = "TENURE_REQUIRE_TOOLS"


def tool(name: str) -> str:
    """The path of a command, from the environment that runs the tests or from PATH.

    A missing one skips the test by name, unless TENURE_REQUIRE_TOOLS is 1: then it fails, so that a skip
    cannot hide a broken installation where the tools are known to be installed.
    """
    beside = Path(sys.executable).parent
    found = shutil.which(name, path=f"{beside}{os.pathsep}{os.environ.get('PATH', '')}")
    if found is None:
        refuse = pytest.fail if os.environ.get(REQUIRE_TOOLS) == "1" else pytest.skip
        refuse(f"the command {name} is not installed")
    return found
