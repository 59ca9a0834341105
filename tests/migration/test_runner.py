"""The migration runner against real databases: many at once, and histories that must be refused."""

from __future__ import annotations

import dataclasses
import hashlib

import pytest
import trio

from tenure_control.migration import HistoryError, Migration, applied_migrations, load_migrations, migrate
from tenure_control.migration.guard import guard_sql
from tenure_postgres.error import Busy, DatabaseError
from tests.harness import ScratchDatabase
from tests.harness.fixture import MakeDatabase
from tests.harness.template import with_roles
from tests.migration.dump import COMMITTED, dump_schema


def migration(number: int, sql: str) -> Migration:
    return Migration(number, f"{number:04}_test", sql, hashlib.sha256(sql.encode()).digest())


FIRST = migration(1, "CREATE TABLE tenure.first (id integer PRIMARY KEY)")
SECOND = migration(2, "ALTER TABLE tenure.first ADD COLUMN second integer")


@pytest.fixture
def fresh(make_database: MakeDatabase) -> ScratchDatabase:
    """A database with roles and nothing else."""
    return make_database(with_roles)


async def run(database: ScratchDatabase, *migrations: Migration) -> list[str]:
    async with database.open("tenure_migrate", size=1) as opened:
        return [applied.name for applied in await migrate(opened, migrations)]


async def test_twenty_runners_apply_each_file_once(fresh: ScratchDatabase) -> None:
    applied: list[str] = []

    async def runner() -> None:
        applied.extend(await run(fresh, FIRST, SECOND))

    async with trio.open_nursery() as nursery:
        for _ in range(20):
            nursery.start_soon(runner)
    assert sorted(applied) == [FIRST.name, SECOND.name]
    assert fresh.value("SELECT array_agg(id ORDER BY id) FROM tenure.schema_migrations") == [1, 2]


async def test_what_was_applied_is_not_applied_again(fresh: ScratchDatabase) -> None:
    assert await run(fresh, FIRST) == [FIRST.name]
    assert await run(fresh, FIRST, SECOND) == [SECOND.name]
    assert await run(fresh, FIRST, SECOND) == []


async def test_a_failing_file_leaves_nothing(fresh: ScratchDatabase) -> None:
    broken = migration(2, "CREATE TABLE tenure.half (); SELECT 1 / 0")
    with pytest.raises(DatabaseError, match="division by zero"):
        await run(fresh, FIRST, broken)
    assert fresh.value("SELECT to_regclass('tenure.half')") is None
    assert fresh.value("SELECT max(id) FROM tenure.schema_migrations") == 1


async def test_an_edited_file_is_refused(fresh: ScratchDatabase) -> None:
    await run(fresh, FIRST)
    edited = dataclasses.replace(FIRST, checksum=bytes(32))
    with pytest.raises(HistoryError, match="0001_test was applied with other content"):
        await run(fresh, edited, SECOND)
    assert fresh.value("SELECT count(*) FROM tenure.schema_migrations") == 1


async def test_a_database_ahead_of_the_code_is_refused(fresh: ScratchDatabase) -> None:
    await run(fresh, FIRST, SECOND)
    with pytest.raises(HistoryError, match="ahead of this code: it has 0002_test"):
        await run(fresh, FIRST)


async def test_a_gap_in_the_history_is_refused(fresh: ScratchDatabase) -> None:
    await run(fresh, FIRST, SECOND)
    fresh.execute("DELETE FROM tenure.schema_migrations WHERE id = 1")
    with pytest.raises(HistoryError, match="migration 0001 is missing"):
        await run(fresh, FIRST, SECOND)


async def test_a_file_outside_a_transaction_is_applied_and_recorded(fresh: ScratchDatabase) -> None:
    index = migration(
        2, "-- outside a transaction\nCREATE INDEX CONCURRENTLY IF NOT EXISTS found ON tenure.first (id)"
    )
    assert await run(fresh, FIRST, index) == [FIRST.name, index.name]
    assert fresh.value("SELECT to_regclass('tenure.found')::text") == "tenure.found"
    assert await run(fresh, FIRST, index) == []


async def test_a_turn_that_does_not_come_ends_as_busy(
    fresh: ScratchDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tenure_control.migration.runner.TURN_WAIT_S", 0.3)
    await run(fresh, FIRST)
    async with fresh.session() as other:
        await other.execute("BEGIN; LOCK TABLE tenure.schema_migrations IN ACCESS EXCLUSIVE MODE")
        async with fresh.open("tenure_migrate") as opened:
            with pytest.raises(Busy):
                await migrate(opened, [FIRST, SECOND])


async def test_a_database_that_was_never_migrated_has_no_history(fresh: ScratchDatabase) -> None:
    async with fresh.open("tenure_migrate") as opened:
        assert await applied_migrations(opened) == ()


def test_the_files_are_numbered_without_a_gap() -> None:
    assert [migration.id for migration in load_migrations()] == list(range(1, len(load_migrations()) + 1))


def test_the_guards_in_the_migrations_are_the_generated_ones() -> None:
    assert any(guard_sql() in migration.sql for migration in load_migrations())


def test_the_committed_schema_is_what_the_migrations_make(database: ScratchDatabase) -> None:
    assert COMMITTED.read_text() == dump_schema(database.server, database.name), "run `make schema`"
