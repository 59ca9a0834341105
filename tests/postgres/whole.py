"""What every test of the border ends with: the pool is whole and nothing is left behind on the server."""

from __future__ import annotations

from tenure_postgres.database import Connection, Database
from tests.harness import ScratchDatabase

ROWS = "CREATE TABLE item (id int PRIMARY KEY, note text)"


async def assert_whole(database: ScratchDatabase, opened: Database) -> None:
    """Every place is free, every server process is an idle connection of ours, and units work."""
    assert opened.pool.free == opened.pool.size
    await database.wait_until(
        "count(*) = $1 AND count(*) FILTER (WHERE state <> 'idle') = 0 FROM pg_stat_activity"
        " WHERE datname = current_database() AND application_name = $2",
        opened.pool.idle,
        opened.name,
    )
    for _ in range(opened.pool.size):
        assert await opened.transact(one) == 1


async def one(connection: Connection) -> int:
    """A unit that only needs a server."""
    value: int = await connection.fetchval("SELECT 1")
    return value


async def insert(connection: Connection) -> None:
    """A unit that writes the row 1."""
    await connection.execute("INSERT INTO item VALUES (1)")


def written(database: ScratchDatabase) -> bool:
    """Whether the row of `insert` is there."""
    return bool(database.value("SELECT count(*) FROM item"))
