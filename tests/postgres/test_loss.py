"""Connections that are killed, cut or restarted under a unit of work."""

from __future__ import annotations

import pytest
import trio

from tenure_postgres.database import Connection
from tenure_postgres.error import DatabaseError, OutcomeUnknown, Unavailable
from tests.harness import ScratchDatabase, open_proxy
from tests.harness.fixture import temporary_server
from tests.postgres.whole import ROWS, assert_whole, insert, one, written


async def sleep(connection: Connection) -> None:
    await insert(connection)
    await connection.execute("SELECT pg_sleep(30)")


async def test_a_killed_backend_is_unavailable_and_replaced(rows: ScratchDatabase) -> None:
    async with rows.open() as opened:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_kill_the_sleeper, rows)
            with pytest.raises(Unavailable):
                await opened.transact(sleep)

        assert not written(rows)
        await assert_whole(rows, opened)


async def test_a_backend_killed_during_a_call_leaves_the_outcome_open(rows: ScratchDatabase) -> None:
    async with rows.open() as opened:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_kill_the_sleeper, rows)
            with pytest.raises(OutcomeUnknown):
                await opened.call(sleep)

        await assert_whole(rows, opened)


async def test_idle_backends_killed_are_noticed(rows: ScratchDatabase) -> None:
    async with rows.open(size=3) as opened:
        async with trio.open_nursery() as nursery:
            for _ in range(3):
                nursery.start_soon(opened.fetch, one)
        assert rows.kill_backends() == 3
        await trio.testing.wait_all_tasks_blocked(0.02)

        for _ in range(3):
            assert await opened.transact(one) == 1
        await assert_whole(rows, opened)


@pytest.mark.parametrize("way", ["transact", "call"])
async def test_a_lost_reply_to_the_commit_is_an_unknown_outcome(rows: ScratchDatabase, way: str) -> None:
    async with (
        open_proxy(rows.server.socket_path) as proxy,
        rows.open(size=1, dsn=proxy.dsn(rows.dsn())) as opened,
    ):
        await opened.fetch(one)
        lost = proxy.lose_reply("COMMIT" if way == "transact" else "INSERT")
        with pytest.raises(OutcomeUnknown):
            await getattr(opened, way)(insert)

        assert lost.is_set()
        assert written(rows), "the server had committed before its reply was lost"
        await assert_whole(rows, opened)


async def test_a_connection_cut_before_the_commit_changed_nothing(rows: ScratchDatabase) -> None:
    async with (
        open_proxy(rows.server.socket_path) as proxy,
        rows.open(size=1, dsn=proxy.dsn(rows.dsn())) as opened,
    ):

        async def unit(connection: Connection) -> None:
            await insert(connection)
            proxy.cut()
            await connection.execute("SELECT 1")

        with pytest.raises(Unavailable):
            await opened.transact(unit)

        assert not written(rows)
        await assert_whole(rows, opened)


async def test_an_error_reply_to_the_commit_is_known(rows: ScratchDatabase) -> None:
    rows.execute("ALTER TABLE item ADD UNIQUE (note) DEFERRABLE INITIALLY DEFERRED")

    async def unit(connection: Connection) -> None:
        await connection.execute("INSERT INTO item VALUES (1, 'x'), (2, 'x')")

    async with rows.open() as opened:
        with pytest.raises(DatabaseError) as caught:
            await opened.transact(unit)
        assert caught.value.sqlstate == "23505"
        assert not written(rows)
        await assert_whole(rows, opened)


async def test_a_refusing_network_is_unavailable_until_it_heals(rows: ScratchDatabase) -> None:
    async with (
        open_proxy(rows.server.socket_path) as proxy,
        rows.open(dsn=proxy.dsn(rows.dsn())) as opened,
    ):
        proxy.refuse()
        with pytest.raises(Unavailable):
            await opened.transact(one)
        proxy.forward()
        await assert_whole(rows, opened)


async def test_a_crash_and_a_restart_of_the_server() -> None:
    with temporary_server(durable=True) as server:
        database = ScratchDatabase(server, "postgres")
        database.execute(ROWS)
        async with database.open() as opened:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(_crash_under_the_sleeper, database)
                with pytest.raises(Unavailable):
                    await opened.transact(sleep)
            with pytest.raises(Unavailable):
                await opened.transact(one)
            server.start()
            await assert_whole(database, opened)
            await opened.transact(insert)

            server.stop()
            with pytest.raises(Unavailable):
                await opened.transact(one)
            server.start()
            await assert_whole(database, opened)
        assert written(database)
        database.close()


async def _kill_the_sleeper(rows: ScratchDatabase) -> None:
    await rows.wait_until("count(*) = 1 FROM pg_stat_activity WHERE wait_event = 'PgSleep'")
    rows.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE wait_event = 'PgSleep' AND datname = current_database()"
    )


async def _crash_under_the_sleeper(database: ScratchDatabase) -> None:
    await database.wait_until("count(*) = 1 FROM pg_stat_activity WHERE wait_event = 'PgSleep'")
    database.server.crash()
