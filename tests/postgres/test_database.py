"""Units of work: what commits, what rolls back, how values and errors cross."""

from __future__ import annotations

import asyncio
import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import trio

from tenure_postgres.database import Connection, Database, open_database
from tenure_postgres.error import (
    Busy,
    Conflict,
    DatabaseError,
    DataFault,
    Misconfigured,
    Unavailable,
    translated,
)
from tests.harness import ScratchDatabase
from tests.postgres.whole import assert_whole, insert, one, written


async def test_a_unit_is_one_transaction(rows: ScratchDatabase) -> None:
    async with rows.open() as opened:

        async def unit(connection: Connection) -> tuple[bool, int]:
            await insert(connection)
            return connection.is_in_transaction(), await connection.fetchval("SELECT count(*) FROM item")

        assert await opened.transact(unit) == (True, 1)
        assert written(rows)
        await assert_whole(rows, opened)


async def test_an_error_of_the_unit_rolls_back_and_passes_unchanged(rows: ScratchDatabase) -> None:
    class RefusedError(Exception):
        pass

    async def unit(connection: Connection) -> None:
        await insert(connection)
        raise RefusedError

    async with rows.open() as opened:
        with pytest.raises(RefusedError):
            await opened.transact(unit)

        assert not written(rows)
        assert opened.pool.idle == 1, "the connection was still good"
        await assert_whole(rows, opened)


async def test_a_hidden_server_error_is_not_mistaken_for_a_commit(rows: ScratchDatabase) -> None:
    async def unit(connection: Connection) -> None:
        await insert(connection)
        with pytest.raises(Conflict), translated():
            await insert(connection)

    async with rows.open() as opened:
        with pytest.raises(DatabaseError, match="hid an error"):
            await opened.transact(unit)

        assert not written(rows)
        await assert_whole(rows, opened)


async def test_fetch_and_call_open_no_transaction(rows: ScratchDatabase) -> None:
    async def inside(connection: Connection) -> bool:
        return connection.is_in_transaction()

    async with rows.open() as opened:
        assert not await opened.fetch(inside)
        await opened.call(insert)
        assert written(rows)


async def test_a_transaction_left_open_does_not_reach_the_next_unit(rows: ScratchDatabase) -> None:
    async def careless(connection: Connection) -> None:
        await connection.execute("BEGIN")
        await insert(connection)

    async with rows.open(size=1) as opened:
        await opened.fetch(careless)

        await assert_whole(rows, opened)
    assert not written(rows)


async def test_values_cross_as_the_standard_library_has_them(rows: ScratchDatabase) -> None:
    given = (uuid.uuid4(), datetime.now(UTC), '{"a": 1}', b"\0x", timedelta(seconds=1))

    async def unit(connection: Connection) -> tuple[Any, ...]:
        return tuple(
            await connection.fetchrow(
                "SELECT $1::uuid, $2::timestamptz, $3::jsonb, $4::bytea, $5::interval", *given
            )
            or ()
        )

    async with rows.open() as opened:
        found = await opened.fetch(unit)

    assert found == given
    assert isinstance(found[0], uuid.UUID)
    assert found[1].tzinfo is UTC


@pytest.mark.parametrize("statements", [0, 128])
async def test_it_works_with_and_without_prepared_statements(rows: ScratchDatabase, statements: int) -> None:
    async def prepared(connection: Connection) -> int:
        await connection.fetchval("SELECT $1::int + 1", 1)
        value: int = await connection.fetchval(
            "SELECT count(*) FROM pg_prepared_statements WHERE NOT from_sql"
        )
        return value

    async with open_database(rows.dsn(), size=1, name="test", statements=statements) as opened:
        await opened.transact(prepared)
        assert (await opened.transact(prepared) > 0) is (statements > 0)


@pytest.mark.parametrize(
    ("statement", "arguments", "kind", "sqlstate"),
    [
        ("INSERT INTO item VALUES (1), (1)", (), Conflict, "23505"),
        ("DO $$ BEGIN RAISE 'no'; END $$", (), Conflict, "P0001"),
        ("DO $$ BEGIN RAISE 'no' USING ERRCODE = 'TN001'; END $$", (), Conflict, "TN001"),
        ("SELECT 1/0", (), DataFault, "22012"),
        ("SELECT $1::text", ("a\0b",), DataFault, "22021"),
        ("SELECT $1::int", ("one",), DataFault, "22000"),
        ("SELECT * FROM nowhere", (), Misconfigured, "42P01"),
        ("SET statement_timeout = 10; SELECT pg_sleep(1)", (), Busy, "57014"),
        ("SET TRANSACTION READ ONLY; INSERT INTO item VALUES (1)", (), Unavailable, "25006"),
        ("DO $$ BEGIN RAISE 'odd' USING ERRCODE = 'XX000'; END $$", (), DatabaseError, "XX000"),
    ],
)
async def test_errors_come_as_what_the_caller_can_do(
    rows: ScratchDatabase, statement: str, arguments: tuple[str, ...], kind: type, sqlstate: str | None
) -> None:
    async def unit(connection: Connection) -> None:
        await connection.execute(statement, *arguments)

    async with rows.open() as opened:
        with pytest.raises(DatabaseError) as caught:
            await opened.transact(unit)

        assert type(caught.value) is kind
        assert caught.value.sqlstate == sqlstate
        await assert_whole(rows, opened)


@pytest.mark.parametrize(("role", "name"), [("nobody_we_know", None), ("postgres", "no_such_database")])
async def test_a_refused_login_is_a_matter_of_configuration(
    rows: ScratchDatabase, role: str, name: str | None
) -> None:
    dsn = rows.server.dsn(role, name or rows.name)
    async with rows.open(dsn=dsn) as opened:
        with pytest.raises(Misconfigured):
            await opened.fetch(one)
        assert opened.pool.free == opened.pool.size


async def test_an_unreachable_server_is_unavailable(rows: ScratchDatabase) -> None:
    async with rows.open(dsn="postgresql://postgres@127.0.0.1:1/x") as opened:
        with pytest.raises(Unavailable):
            await opened.fetch(one)


async def test_an_address_that_is_none_is_a_matter_of_configuration(rows: ScratchDatabase) -> None:
    async with rows.open(dsn="http://example.org/") as opened:
        with pytest.raises(Misconfigured):
            await opened.fetch(one)


async def test_a_deadlock_victim_is_run_again(rows: ScratchDatabase) -> None:
    rows.execute("INSERT INTO item VALUES (1), (2)")
    tries = 0
    locked: set[int] = set()
    both = asyncio.Event()

    async def cross(first: int, second: int) -> None:
        async def unit(connection: Connection) -> None:
            nonlocal tries
            tries += 1
            await connection.execute("SET LOCAL deadlock_timeout = '20ms'")
            await connection.execute("UPDATE item SET note = note WHERE id = $1", first)
            locked.add(first)
            if len(locked) == 2:
                both.set()
            await both.wait()
            await connection.execute("UPDATE item SET note = coalesce(note, '') || '+' WHERE id = $1", second)

        await opened.transact(unit)

    async with rows.open() as opened:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(cross, 1, 2)
            nursery.start_soon(cross, 2, 1)

        assert tries == 3
        assert [row["note"] for row in rows.rows("SELECT note FROM item")] == ["+", "+"]
        await assert_whole(rows, opened)


async def test_a_lock_time_out_is_raced_and_is_not_repeated(rows: ScratchDatabase) -> None:
    tries = 0

    async def unit(connection: Connection) -> None:
        nonlocal tries
        tries += 1
        await connection.execute("LOCK TABLE item NOWAIT")

    async with rows.open() as opened, rows.session() as other:
        await other.execute("BEGIN")
        await other.execute("LOCK TABLE item")
        with pytest.raises(Busy) as caught:
            await opened.transact(unit)

        assert caught.value.raced
        assert tries == 1
        await assert_whole(rows, opened)


async def test_a_schema_change_under_a_prepared_statement_is_run_again(rows: ScratchDatabase) -> None:
    async def unit(connection: Connection) -> int:
        return len(await connection.fetchrow("SELECT * FROM item") or ())

    rows.execute("INSERT INTO item VALUES (1)")
    async with rows.open(size=1) as opened:
        assert await opened.transact(unit) == 2
        rows.execute("ALTER TABLE item ADD more int")
        assert await opened.transact(unit) == 3


async def test_those_who_wait_for_a_connection_are_served_in_order(rows: ScratchDatabase) -> None:
    served: list[int] = []

    async def ask(number: int) -> None:
        async def unit(connection: Connection) -> None:
            await connection.fetchval("SELECT 1")
            served.append(number)

        await opened.transact(unit)

    async with rows.open(size=1) as opened, trio.open_nursery() as nursery:
        for number in range(5):
            nursery.start_soon(ask, number)
            await trio.testing.wait_all_tasks_blocked()
    assert served == [0, 1, 2, 3, 4]


async def test_no_free_connection_in_time_is_busy(rows: ScratchDatabase) -> None:
    async def sleep(connection: Connection) -> None:
        await connection.execute("SELECT pg_sleep(0.3)")

    async with rows.open(size=1) as opened:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(opened.fetch, sleep)
            await rows.wait_until("count(*) = 1 FROM pg_stat_activity WHERE wait_event = 'PgSleep'")
            with pytest.raises(Busy, match="became free"):
                await opened.fetch(one, deadline_s=0.05)
        await assert_whole(rows, opened)


async def test_leaving_the_block_leaves_nothing_on_the_server(rows: ScratchDatabase) -> None:
    async def use() -> None:
        async with rows.open() as opened:
            seen.append(opened)
            await opened.fetch(one)
            raise LookupError("comes out as itself")

    seen: list[Database] = []
    with pytest.raises(LookupError):
        await use()

    (opened,) = seen
    await rows.wait_until("count(*) = 0 FROM pg_stat_activity WHERE application_name = $1", opened.name)
    with pytest.raises(Unavailable):
        await opened.fetch(one)


async def test_two_databases_in_one_task(rows: ScratchDatabase) -> None:
    async with rows.open() as outer, rows.open() as inner:
        assert await outer.fetch(one) == await inner.transact(one) == await outer.transact(one)
