"""A small database for the border's own tests, which needs no schema of Tenure."""

from __future__ import annotations

import pytest

from tenure.embedded import EmbeddedServer
from tests.harness import ScratchDatabase
from tests.harness.blocking import BlockingConnection
from tests.harness.fixture import MakeDatabase
from tests.postgres.whole import ROWS


def with_rows(server: EmbeddedServer, database: str) -> None:
    """A template with one table."""
    with BlockingConnection(server.dsn(database=database)) as connection:
        connection.execute(ROWS)


@pytest.fixture
def rows(make_database: MakeDatabase) -> ScratchDatabase:
    """A database with the empty table `item`."""
    return make_database(with_rows)
