"""Heartbeats travel together, and each session is answered for itself."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from datetime import timedelta

import pytest
import trio

from tenure_ingress.repository import call
from tests.database.worker import Row, SqlWorker, open_worker
from tests.harness import ScratchDatabase
from tests.harness.fake_worker import FakeWorker, open_fake_worker, refused
from tests.harness.ingress import RunningIngress
from tests.harness.seed import Seed


@pytest.fixture
async def fleet(ingress: RunningIngress, seed: Seed) -> AsyncIterator[list[FakeWorker]]:
    """Eight registered workers."""
    async with AsyncExitStack() as stack:
        workers = [
            await stack.enter_async_context(open_fake_worker(ingress.url, seed.credential(f"w{number}")))
            for number in range(8)
        ]
        for worker in workers:
            await worker.register()
        yield workers


async def lane(ingress: RunningIngress, what: str) -> float:
    """What the metrics say about the lane of heartbeats."""
    lines = (await ingress.probe("/metrics")).text.splitlines()
    (line,) = [line for line in lines if line.startswith(f'tenure_ingress_lane_{what}{{lane="heartbeat"}}')]
    return float(line.rpartition(" ")[2])


async def wait_until_lane(ingress: RunningIngress, what: str, at_least: int) -> None:
    with trio.fail_after(4):
        while await lane(ingress, what) < at_least:  # noqa: ASYNC110 - asked over HTTP
            await trio.sleep(0.01)


async def test_heartbeats_that_come_together_travel_together(
    fleet: list[FakeWorker], ingress: RunningIngress, database: ScratchDatabase
) -> None:
    async with database.session() as somebody:
        # Whatever comes while the first call waits has to collect.
        await somebody.execute("BEGIN; LOCK TABLE tenure.worker_sessions IN ACCESS EXCLUSIVE MODE")
        async with trio.open_nursery() as nursery:
            nursery.start_soon(fleet[0].heartbeat)
            await database.wait_until_blocked()
            for worker in fleet[1:]:
                nursery.start_soon(worker.heartbeat)
            await wait_until_lane(ingress, "waiting", len(fleet) - 1)
            await somebody.execute("COMMIT")
    assert (await lane(ingress, "calls_total"), await lane(ingress, "items_total")) == (2, 8)


async def test_a_session_that_stays_locked_is_told_to_come_back_alone(
    fleet: list[FakeWorker], database: ScratchDatabase
) -> None:
    locked, free, *_ = fleet
    async with database.session() as somebody, trio.open_nursery() as nursery:
        await somebody.execute("BEGIN")
        await somebody.rows(
            "SELECT FROM tenure.worker_sessions WHERE session = $1 FOR UPDATE", locked.session
        )

        async def try_locked() -> None:
            with refused("busy"):
                await locked.heartbeat()

        nursery.start_soon(try_locked)
        for _ in range(3):
            assert (await free.heartbeat())["status"] == "online"
    assert (await locked.heartbeat())["status"] == "online"


async def test_a_session_that_is_free_again_is_extended_within_the_second(
    fleet: list[FakeWorker], ingress: RunningIngress, database: ScratchDatabase
) -> None:
    answers: list[str] = []

    async def extend() -> None:
        answers.append((await fleet[0].heartbeat())["status"])

    async with database.session() as somebody, trio.open_nursery() as nursery:
        await somebody.execute("BEGIN; SELECT FROM tenure.worker_sessions FOR UPDATE")
        nursery.start_soon(extend)
        await wait_until_lane(ingress, "calls_total", 3)
        assert answers == []
        await somebody.execute("COMMIT")
    assert answers == ["online"]


async def test_every_session_of_a_call_has_its_own_answer(database: ScratchDatabase, seed: Seed) -> None:
    async with AsyncExitStack() as stack:
        workers = [
            await stack.enter_async_context(open_worker(database, seed.credential(name)))
            for name in ("fine", "offline", "fenced", "stranger", "asked")
        ]
        fine, offline, fenced, stranger, asked = workers
        await offline.offline()
        fenced.generation = 7
        stranger.token = type(stranger.token)(stranger.token.id, bytes(32))
        database.execute(
            "UPDATE tenure.worker_sessions SET drain_requested_at = tenure.clock() WHERE session = $1",
            asked.session,
        )
        await asked.drain()
        database.shift(timedelta(seconds=30))
        rows = await beat(fine, *workers)
        refusals = ["session_fenced", "session_fenced", "credential_refused"]
        assert [row["refusal"] for row in rows] == [None, *refusals, None]
        assert [row["status"] for row in rows] == ["online", None, None, None, "draining"]
        assert [row["drain_requested"] for row in rows] == [False, None, None, None, True]
        assert not any(row["locked"] for row in rows)
        for row in (rows[0], rows[4]):
            assert row["expires_at"] - row["server_time"] == timedelta(seconds=45)
        extended = database.value(
            "SELECT count(*) FROM tenure.worker_sessions WHERE expires_at > tenure.clock() + interval '40 s'"
        )
        assert extended == 2


async def test_a_session_that_is_being_replaced_is_locked_and_then_fenced(
    database: ScratchDatabase, seed: Seed
) -> None:
    token = seed.credential("w1")
    async with open_worker(database, token) as older, open_worker(database, token, register=False) as newer:
        await newer.connection.execute("BEGIN")
        await newer.register(takeover=True)
        during = await older.heartbeat()
        assert (during["locked"], during["refusal"]) == (True, None)
        await newer.connection.execute("COMMIT")
        after = await older.heartbeat()
        assert (after["locked"], after["refusal"], after["expires_at"]) == (False, "session_fenced", None)


async def test_a_batch_locks_nothing_of_others(database: ScratchDatabase, seed: Seed) -> None:
    async with (
        open_worker(database, seed.credential("w1")) as one,
        open_worker(database, seed.credential("w2")) as two,
        open_worker(database, seed.credential("w3")) as three,
    ):
        await two.connection.execute("BEGIN")
        real, two.session = two.session, one.session
        rows = await beat(two, two, three)
        assert [row["refusal"] for row in rows] == ["session_fenced", None]
        assert (await one.heartbeat())["locked"] is False
        assert (await three.heartbeat())["locked"] is True
        two.session = real


async def beat(over: SqlWorker, *workers: SqlWorker) -> list[Row]:
    """One call for several sessions, on the connection of one of them."""
    columns = zip(*(worker.caller.columns for worker in workers), strict=True)
    return list(await over.connection.rows(call.QUERIES["heartbeat"], *map(list, columns)))
