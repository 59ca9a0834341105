"""Cancellation and deadlines, at every place where they may land."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
import trio

from tenure_postgres.database import Connection, Unit
from tenure_postgres.error import OutcomeUnknown, Unavailable
from tests.harness import ScratchDatabase, open_proxy
from tests.postgres.whole import assert_whole, insert, one, written


async def sleep_in_statement(connection: Connection) -> None:
    await insert(connection)
    await connection.execute("SELECT pg_sleep(30)")


async def sleep_in_python(connection: Connection) -> None:
    await insert(connection)
    await asyncio.sleep(30)


async def sleep_in_prepare(connection: Connection) -> None:
    await insert(connection)
    await connection.fetchval("SELECT $1::int + (SELECT 1 FROM pg_sleep(30))", 1)


async def stubborn(connection: Connection) -> None:
    await insert(connection)
    try:
        await asyncio.sleep(30)
    except asyncio.CancelledError:  # noqa: ASYNC103 - being stubborn is the point
        await connection.execute("SELECT 1")  # noqa: ASYNC102


UNITS = [sleep_in_statement, sleep_in_python, sleep_in_prepare, stubborn]


@pytest.mark.parametrize("unit", UNITS)
async def test_a_cancelled_caller_leaves_a_whole_pool(rows: ScratchDatabase, unit: Unit[None]) -> None:
    async with rows.open() as opened:
        await opened.fetch(one)
        with trio.move_on_after(0.05) as scope, trio.fail_after(1):
            await opened.transact(unit)

        assert scope.cancelled_caught
        await assert_whole(rows, opened)
    assert not written(rows)


@pytest.mark.parametrize("unit", UNITS)
async def test_a_deadline_returns_at_once(rows: ScratchDatabase, unit: Unit[None]) -> None:
    async with rows.open() as opened:
        await opened.fetch(one)
        with trio.fail_after(1), pytest.raises(Unavailable, match="did not answer in time"):
            await opened.transact(unit, deadline_s=0.05)

        await assert_whole(rows, opened)
    assert not written(rows)


async def test_cancelled_while_waiting_for_a_connection(rows: ScratchDatabase) -> None:
    async with rows.open(size=1) as opened, trio.open_nursery() as nursery:
        nursery.start_soon(opened.fetch, sleep_in_python)
        await trio.testing.wait_all_tasks_blocked(0.01)
        with trio.move_on_after(0.01) as scope:
            await opened.transact(one)
        assert scope.cancelled_caught
        nursery.cancel_scope.cancel()
    async with rows.open(size=1) as opened:
        await assert_whole(rows, opened)


async def test_cancelled_while_connecting(rows: ScratchDatabase) -> None:
    async with (
        open_proxy(rows.server.socket_path) as proxy,
        rows.open(size=1, dsn=proxy.dsn(rows.dsn())) as opened,
    ):
        proxy.stall()
        with trio.move_on_after(0.05) as scope:
            await opened.transact(one)
        assert scope.cancelled_caught

        proxy.forward()
        await assert_whole(rows, opened)


async def test_a_server_that_never_greets_is_unavailable(rows: ScratchDatabase) -> None:
    async with (
        open_proxy(rows.server.socket_path) as proxy,
        rows.open(size=1, dsn=proxy.dsn(rows.dsn())) as opened,
    ):
        proxy.stall()
        with pytest.raises(Unavailable, match="could not connect in time"):
            await opened.transact(one, deadline_s=0.05)

        proxy.forward()
        await assert_whole(rows, opened)


async def test_cancelled_before_anything_happened(rows: ScratchDatabase) -> None:
    async with rows.open() as opened:
        with trio.CancelScope() as scope:
            scope.cancel()
            await opened.transact(insert)
        assert scope.cancelled_caught
        await assert_whole(rows, opened)
    assert not written(rows)


async def test_a_commit_on_its_way_is_awaited_and_its_result_returned(rows: ScratchDatabase) -> None:
    async with (
        open_proxy(rows.server.socket_path) as proxy,
        rows.open(size=1, dsn=proxy.dsn(rows.dsn())) as opened,
    ):

        async def unit(connection: Connection) -> str:
            await insert(connection)
            proxy.one_way("replies")
            return "kept"

        async with trio.open_nursery() as nursery:
            scope = trio.CancelScope()
            nursery.start_soon(_cancel_after_commit, rows, scope, proxy.forward)
            with scope:
                result = await opened.transact(unit)
        assert result == "kept"
        assert written(rows)
        await assert_whole(rows, opened)


async def _cancel_after_commit(
    rows: ScratchDatabase, scope: trio.CancelScope, forward: Callable[[], None]
) -> None:
    await rows.wait_until("count(*) = 1 FROM item")
    scope.cancel()
    await trio.testing.wait_all_tasks_blocked(0.01)
    forward()


async def test_a_commit_without_answer_is_an_unknown_outcome(rows: ScratchDatabase) -> None:
    async with (
        open_proxy(rows.server.socket_path) as proxy,
        rows.open(size=1, dsn=proxy.dsn(rows.dsn())) as opened,
    ):

        async def unit(connection: Connection) -> None:
            await insert(connection)
            proxy.one_way("replies")

        with pytest.raises(OutcomeUnknown, match="in time"):
            await opened.transact(unit, deadline_s=0.2)

        assert written(rows), "this time it had happened"
        proxy.forward()
        await assert_whole(rows, opened)


async def test_cancelled_and_the_commit_is_never_answered(rows: ScratchDatabase) -> None:
    async with (
        open_proxy(rows.server.socket_path) as proxy,
        rows.open(size=1, dsn=proxy.dsn(rows.dsn())) as opened,
    ):

        async def unit(connection: Connection) -> None:
            await insert(connection)
            proxy.one_way("replies")

        with trio.fail_after(2), trio.move_on_after(0.1) as scope:
            await opened.transact(unit, deadline_s=0.3)
        assert scope.cancelled_caught

        proxy.forward()
        await assert_whole(rows, opened)


async def test_a_storm_of_cancellations(rows: ScratchDatabase) -> None:
    async def impatient(number: int) -> None:
        async def unit(connection: Connection) -> None:
            await connection.execute("INSERT INTO item VALUES ($1)", number)
            await connection.execute("SELECT pg_sleep(0.002)")

        with trio.move_on_after(0.001 * (number % 40)):
            await opened.transact(unit)
            finished.add(number)

    finished: set[int] = set()
    async with rows.open(size=3) as opened:
        async with trio.open_nursery() as nursery:
            for number in range(200):
                nursery.start_soon(impatient, number)
        await assert_whole(rows, opened)
    there = {row["id"] for row in rows.rows("SELECT id FROM item")}
    assert finished <= there
