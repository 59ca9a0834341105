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

__all__ = ["admin", "database", "dropper", "empty_database", "make_database", "server", "templates"]
