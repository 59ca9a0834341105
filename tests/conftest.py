"""Makes the fixtures of the harness known to every test; they are described in tests/harness/README.md."""

from __future__ import annotations

from tests.harness.fixture import (
    admin,
    database,
    dropper,
    empty_database,
    make_database,
    server,
    templates,
)
from tests.harness.log import own_logging

__all__ = [
    "admin",
    "database",
    "dropper",
    "empty_database",
    "make_database",
    "own_logging",
    "server",
    "templates",
]
