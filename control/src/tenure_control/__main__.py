"""`python -m tenure_control`: the process, with signals and exit code. Settings come from the environment."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from functools import partial

from tenure_control.app import serve
from tenure_control.settings import read_settings
from tenure_process.main import run


def main(environ: Mapping[str, str] = os.environ) -> int:
    """Serve until SIGTERM or SIGINT; returns the exit code of the process."""
    return run("tenure.control", partial(read_settings, environ), serve)


if __name__ == "__main__":
    sys.exit(main())
