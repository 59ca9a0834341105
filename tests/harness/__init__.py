"""Tools to write a test with; see README.md in this folder.

`from tests.harness import ...` gives everything that a test names itself. The fixtures come by themselves.
"""

from __future__ import annotations

from tests.harness.database import ScratchDatabase
from tests.harness.proxy import FaultProxy, open_proxy
from tests.harness.seed import Seed, SeededRun
from tests.harness.session import Session
from tests.harness.template import bare, prepare_template

__all__ = [
    "FaultProxy",
    "ScratchDatabase",
    "Seed",
    "SeededRun",
    "Session",
    "bare",
    "open_proxy",
    "prepare_template",
]
