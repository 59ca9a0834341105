"""`python -m tenure_ingress`: the process, with signals and exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from types import MappingProxyType

from tenure_ingress.app import serve
from tenure_ingress.settings import read_settings
from tenure_process.main import run
from tenure_process.source import gather


def main(environ: Mapping[str, str] = os.environ, flags: Mapping[str, str] = MappingProxyType({})) -> int:
    """Serve until SIGTERM or SIGINT; returns the exit code of the process.

    `flags` are settings by their names in the environment, and win over it.
    """
    return run("tenure.ingress", lambda: read_settings(gather(environ, flags)), serve)


if __name__ == "__main__":
    sys.exit(main())
