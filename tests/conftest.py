"""Makes the fixtures of the harness known to every test; they are described in tests/harness/README.md."""

from __future__ import annotations

from tests.harness.fixture import (
    admin,
    database,
    dropper,
    empty_database,
    make_database,
    seed,
    server,
    templates,
)
from tests.harness.log import own_logging
from tests.harness.secrecy import no_process_logs_a_secret, no_secret_is_logged

__all__ = [
    "admin",
    "database",
    "dropper",
    "empty_database",
    "make_database",
    "no_process_logs_a_secret",
    "no_secret_is_logged",
    "own_logging",
    "seed",
    "server",
    "templates",
]
