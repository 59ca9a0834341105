"""A database of a test's own: a copy of a template, with ways to look into it and to move its clock."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from datetime import timedelta
from typing import Any

import asyncpg
import trio

from tenure.embedded import EmbeddedServer
from tenure_postgres.database import Database, open_database
from tests.harness.blocking import BlockingConnection
from tests.harness.session import Session, open_session

# The same function as in the migrations, moved by a constant. A new body needs no table, no setting and no
# right, and every session, whatever its role, sees it with its next statement.
SHIFTED_CLOCK = """
CREATE OR REPLACE FUNCTION tenure.clock() RETURNS timestamptz
LANGUAGE sql VOLATILE PARALLEL SAFE
AS $$ SELECT pg_catalog.clock_timestamp() + interval '{seconds} seconds' $$
"""


class ScratchDatabase:
    """One throw-away database. `rows`, `value` and `execute` work as the administrator, and block."""

    def __init__(self, server: EmbeddedServer, name: str) -> None:
        self.server = server
        self.name = name
        self.shifted = timedelta()
        self._inspection = BlockingConnection(self.dsn())

    def dsn(self, role: str = "postgres") -> str:
        """The address of this database for a role."""
        return self.server.dsn(role, self.name)

    def open(
        self, role: str = "postgres", *, size: int = 2, deadline_s: float = 5, dsn: str | None = None
    ) -> AbstractAsyncContextManager[Database]:
        """Open it as the product does. `dsn` leads another way, for example through a proxy."""
        return open_database(dsn or self.dsn(role), size=size, name=f"test {role}", deadline_s=deadline_s)

    def session(self, role: str = "postgres") -> AbstractAsyncContextManager[Session]:
        """Open one session that can hold a transaction across trio code."""
        return open_session(self.dsn(role))

    def execute(self, sql: str, *arguments: object) -> str:
        """Run a statement, or a script without arguments."""
        return self._inspection.execute(sql, *arguments)

    def rows(self, sql: str, *arguments: object) -> Sequence[asyncpg.Record]:
        """The rows of a statement."""
        return self._inspection.rows(sql, *arguments)

    def value(self, sql: str, *arguments: object) -> Any:
        """The first column of the first row of a statement."""
        return self._inspection.value(sql, *arguments)

    def shift(self, by: timedelta) -> None:
        """Move `tenure.clock()` of this database, forward or back, in addition to earlier shifts."""
        self.shifted += by
        self.execute(SHIFTED_CLOCK.format(seconds=self.shifted.total_seconds()))

    def backends(self, role: str | None = None) -> list[int]:
        """The server processes that work for this database, without our own inspection."""
        found = self.rows(
            "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
            " AND backend_type = 'client backend' AND ($1::text IS NULL OR usename = $1) ORDER BY pid",
            role,
        )
        return [row["pid"] for row in found]

    def kill_backends(self, role: str | None = None) -> int:
        """End these server processes as an administrator would; how many there were."""
        pids = self.backends(role)
        self.rows("SELECT pg_terminate_backend(pid, 5000) FROM unnest($1::int[]) AS pid", pids)
        return len(pids)

    async def wait_until(self, condition: str, *arguments: object, within_s: float = 5) -> None:
        """Wait until an SQL condition holds, looking every 5 ms; fails the test when it does not in time."""
        deadline = trio.current_time() + within_s
        while not self.value(f"SELECT {condition}", *arguments):
            assert trio.current_time() < deadline, f"not within {within_s} s: {condition}"
            await trio.sleep(0.005)

    async def wait_until_blocked(self, count: int = 1) -> None:
        """Wait until so many sessions of this database wait for a lock."""
        await self.wait_until(
            "count(*) >= $1 FROM pg_stat_activity"
            " WHERE datname = current_database() AND wait_event_type = 'Lock'",
            count,
        )

    def close(self) -> None:
        """End the inspection. The fixture drops the database."""
        self._inspection.close()
