"""Interleavings, forced: what a decision waited for must count, and nothing else may be waited for.

Each test has a trap of the database in mind: after a wait for a lock only the locked row is read again, while
joined rows, counts, conditions and a clock that was read before all stay as they were.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
import trio
from uuid6 import uuid7

from tests.database.worker import SqlWorker, fresh_offers, open_worker, start
from tests.harness import ScratchDatabase, Session
from tests.harness.seed import Seed


class Later:
    """The result of a call that runs beside the test."""

    def __init__(self, nursery: trio.Nursery, work: Callable[[], Awaitable[Any]]) -> None:
        self._done = trio.Event()
        self._work = work
        self._result: Any = None
        nursery.start_soon(self._run)

    async def _run(self) -> None:
        self._result = await self._work()
        self._done.set()

    async def result(self) -> Any:
        """Wait for it."""
        with trio.fail_after(5):
            await self._done.wait()
        return self._result


async def hold(other: Session, sql: str, *arguments: object) -> None:
    """Begin a transaction that holds what the query locks."""
    await other.execute("BEGIN")
    assert await other.rows(sql, *arguments)


async def test_a_renewal_before_a_replacement_is_cut_short_by_it(
    database: ScratchDatabase, seed: Seed
) -> None:
    run, token = seed.run("report"), seed.credential("w1")
    async with open_worker(database, token) as older, open_worker(database, token, register=False) as newer:
        (fence,) = await older.claim()
        await start(older, fence)
        await older.connection.execute("BEGIN")
        (renewed,) = await older.renew(fence)
        assert renewed["status"] == "renewed"
        async with trio.open_nursery() as nursery:
            taking_over = Later(nursery, lambda: newer.register(takeover=True))
            await database.wait_until_blocked()
            await older.connection.execute("COMMIT")
            taken = await taking_over.result()
        # The replacement waited for the renewal, and its own clock counts, read after the wait.
        assert seed.expiry(run) <= taken["server_time"] < renewed["expires_at"]
        assert seed.lease(run)["version"] > renewed["lease_version"]


async def test_a_renewal_during_a_replacement_waits_and_is_fenced(
    database: ScratchDatabase, seed: Seed
) -> None:
    run, token = seed.run("report"), seed.credential("w1")
    async with open_worker(database, token) as older, open_worker(database, token, register=False) as newer:
        (fence,) = await older.claim()
        await start(older, fence)
        await newer.connection.execute("BEGIN")
        await newer.register(takeover=True)
        (during,) = await older.renew(fence)
        assert during["locked"]
        assert during["status"] == "renewed"  # what it would be, were the row free; the caller asks again
        await newer.connection.execute("COMMIT")
        (after,) = await older.renew(fence)
        assert (after["refusal"], after["status"]) == ("session_fenced", None)
        assert seed.expiry(run) <= after["server_time"]


async def test_a_session_is_extended_from_the_end_of_the_wait(database: ScratchDatabase, seed: Seed) -> None:
    token = seed.credential("w1")
    async with open_worker(database, token) as worker, database.session() as other:
        await hold(other, "SELECT FROM tenure.worker_sessions FOR UPDATE")
        async with trio.open_nursery() as nursery:
            draining = Later(nursery, worker.drain)
            await database.wait_until_blocked()
            now = database.value("SELECT tenure.clock()")
            await other.execute("COMMIT")
            row = await draining.result()
        assert row["server_time"] >= now
        assert row["expires_at"] >= now + timedelta(seconds=45)


async def test_a_lease_is_as_long_as_promised_after_a_wait(database: ScratchDatabase, seed: Seed) -> None:
    run, token = seed.run("report"), seed.credential("w1")
    async with open_worker(database, token) as worker, database.session() as other:
        await hold(other, "SELECT FROM tenure.runs FOR UPDATE")
        async with trio.open_nursery() as nursery:
            pulling = Later(nursery, worker.pull)
            await database.wait_until_blocked()
            now = database.value("SELECT tenure.clock()")
            await other.execute("COMMIT")
            _, offered = await pulling.result()
        assert offered["expires_at"] >= now + timedelta(seconds=30)
        assert seed.expiry(run) == offered["expires_at"]


async def test_two_pulls_of_one_session_never_exceed_its_limit(database: ScratchDatabase, seed: Seed) -> None:
    seed.runs("report", 4)
    token = seed.credential("w1")
    async with (
        open_worker(database, token, limit=1) as one,
        open_worker(database, token, register=False) as two,
        database.session() as other,
    ):
        two.session, two.generation = one.session, one.generation
        await hold(other, "SELECT FROM tenure.worker_sessions FOR UPDATE")
        async with trio.open_nursery() as nursery:
            pulls = [Later(nursery, one.pull), Later(nursery, two.pull)]
            await database.wait_until_blocked(2)
            await other.execute("COMMIT")
            answers = [await pull.result() for pull in pulls]
        reasons = {rows[0]["none_reason"]: len(rows) - 1 for rows in answers}
        assert reasons == {None: 1, "at_limit": 0}
        assert database.value("SELECT count(*) FROM tenure.run_leases") == 1


async def test_a_claim_never_overwrites_a_lease_that_was_just_given(
    database: ScratchDatabase, seed: Seed
) -> None:
    run = seed.run("report")
    async with (
        open_worker(database, seed.credential("w1")) as first,
        open_worker(database, seed.credential("w2")) as second,
    ):
        await first.connection.execute("BEGIN")
        await first.claim()
        async with trio.open_nursery() as nursery:
            pulling = Later(nursery, second.pull)
            await database.wait_until_blocked()
            await first.connection.execute("COMMIT")
            summary, *offered = await pulling.result()
        assert (summary["none_reason"], offered) == ("no_work", [])
        lease = seed.lease(run)
        assert (lease["worker"], lease["generation"]) == ("w1", 1)


async def test_a_claim_takes_what_a_rolled_back_claim_left(database: ScratchDatabase, seed: Seed) -> None:
    run = seed.run("report")
    async with (
        open_worker(database, seed.credential("w1")) as first,
        open_worker(database, seed.credential("w2")) as second,
    ):
        await first.connection.execute("BEGIN")
        await first.claim()
        async with trio.open_nursery() as nursery:
            pulling = Later(nursery, second.pull)
            await database.wait_until_blocked()
            await first.connection.execute("ROLLBACK")
            assert len(await pulling.result()) == 2
        assert seed.lease(run)["worker"] == "w2"


async def test_a_locked_head_is_passed_over_not_waited_for(database: ScratchDatabase, seed: Seed) -> None:
    head, next_one = seed.runs("report", 2)
    async with open_worker(database, seed.credential("w1")) as worker, database.session() as other:
        await hold(other, "SELECT FROM tenure.runs WHERE run = $1 FOR UPDATE", head.run)
        (fence,) = await worker.claim()
        assert fence.attempt == next_one.attempt


async def test_a_claim_that_waited_sees_the_cancel_it_waited_for(
    database: ScratchDatabase, seed: Seed
) -> None:
    run = seed.run("report")
    async with open_worker(database, seed.credential("w1")) as worker, database.session() as other:
        await hold(other, "SELECT FROM tenure.runs FOR UPDATE")
        async with trio.open_nursery() as nursery:
            pulling = Later(nursery, worker.pull)
            await database.wait_until_blocked()
            await other.execute(
                "UPDATE tenure.runs SET cancel_requested_at = tenure.clock(), cancel_reason = 'user'; COMMIT"
            )
            assert len(await pulling.result()) == 1
        assert seed.status(run) == ("queued", "claimed")
        assert database.value("SELECT count(*) FROM tenure.run_leases") == 0


async def test_a_start_does_not_pass_a_cancel_that_is_being_written(
    database: ScratchDatabase, seed: Seed
) -> None:
    run = seed.run("report")
    async with open_worker(database, seed.credential("w1")) as worker, database.session() as other:
        (fence,) = await worker.claim()
        await other.execute("BEGIN")
        await other.execute(
            "UPDATE tenure.runs SET cancel_requested_at = tenure.clock(), cancel_reason = 'user'"
        )
        (during,) = await worker.starting(fence)
        assert during["locked"]
        await other.execute("COMMIT")
        # The copy on the lease is not there yet: the intent on the run is enough.
        (after,) = await worker.starting(fence)
        assert after["refusal"] == "stop_requested"
        assert seed.status(run) == ("dispatching", "claimed")


async def test_the_same_key_admits_once_and_the_second_finds_the_first(
    database: ScratchDatabase, seed: Seed
) -> None:
    admit = (
        "SELECT * FROM tenure.admit_run($1, $2, 'shop', 'report', 1, 'manual', NULL, NULL, NULL, NULL,"
        " 'once', NULL, NULL, '{}', sha256('tenure/plan' || '\\x00'::bytea || '{}'), '{}', 'system')"
    )
    ids: list[UUID] = [uuid7() for _ in range(4)]
    async with database.session() as first, database.session() as second:
        await first.execute("BEGIN")
        await first.rows(admit, ids[0], ids[1])
        async with trio.open_nursery() as nursery:
            admitting = Later(nursery, lambda: second.rows(admit, ids[2], ids[3]))
            await database.wait_until_blocked()
            await first.execute("COMMIT")
            (found,) = await admitting.result()
        assert (found["run"], found["created"], found["refusal"]) == (ids[0], False, None)


async def test_two_registrations_at_once_leave_one_current_session(
    database: ScratchDatabase, seed: Seed
) -> None:
    token = seed.credential("w1")
    async with (
        open_worker(database, token, register=False) as one,
        open_worker(database, token, register=False) as two,
    ):
        await one.connection.execute("BEGIN")
        first = await one.register()
        async with trio.open_nursery() as nursery:
            registering = Later(nursery, two.register)
            await database.wait_until_blocked()
            await one.connection.execute("COMMIT")
            second = await registering.result()
        assert (first["refusal"], second["refusal"]) == (None, "session_conflict")


async def test_one_registration_sent_twice_at_once_is_one_session(
    database: ScratchDatabase, seed: Seed
) -> None:
    token = seed.credential("w1")
    async with (
        open_worker(database, token, register=False) as one,
        open_worker(database, token, register=False) as two,
    ):
        two.session = one.session
        await one.connection.execute("BEGIN")
        first = await one.register()
        async with trio.open_nursery() as nursery:
            registering = Later(nursery, two.register)
            await database.wait_until_blocked()
            await one.connection.execute("COMMIT")
            second = await registering.result()
        facts = ("refusal", "generation", "version", "status", "expires_at")
        assert [first[fact] for fact in facts] == [second[fact] for fact in facts]


async def test_a_claim_of_a_session_that_is_being_replaced_is_fenced(
    database: ScratchDatabase, seed: Seed
) -> None:
    run, token = seed.run("report"), seed.credential("w1")
    async with open_worker(database, token) as older, open_worker(database, token, register=False) as newer:
        await newer.connection.execute("BEGIN")
        await newer.register(takeover=True)
        async with trio.open_nursery() as nursery:
            pulling = Later(nursery, older.pull)
            await database.wait_until_blocked()
            await newer.connection.execute("COMMIT")
            (summary,) = await pulling.result()
        assert summary["refusal"] == "session_fenced"
        assert seed.status(run) == ("queued", "claimed")


async def test_a_replacement_returns_what_the_older_session_was_just_claiming(
    database: ScratchDatabase, seed: Seed
) -> None:
    run, token = seed.run("report"), seed.credential("w1")
    async with open_worker(database, token) as older, open_worker(database, token, register=False) as newer:
        await older.connection.execute("BEGIN")
        await older.claim()
        async with trio.open_nursery() as nursery:
            registering = Later(nursery, lambda: newer.register(takeover=True))
            await database.wait_until_blocked()
            await older.connection.execute("COMMIT")
            await registering.result()
        assert seed.status(run) == ("queued", "claimed")
        assert seed.lease(run)["release_reason"] == "superseded"


async def test_a_replacement_spares_what_was_started_while_it_waited(
    database: ScratchDatabase, seed: Seed
) -> None:
    run, token = seed.run("report"), seed.credential("w1")
    async with open_worker(database, token) as older, open_worker(database, token, register=False) as newer:
        (fence,) = await older.claim()
        await older.connection.execute("BEGIN")
        await older.starting(fence)
        async with trio.open_nursery() as nursery:
            registering = Later(nursery, lambda: newer.register(takeover=True))
            await database.wait_until_blocked()
            await older.connection.execute("COMMIT")
            taken = await registering.result()
        assert seed.status(run) == ("dispatching", "starting")
        assert seed.lease(run)["state"] == "leased"
        assert seed.expiry(run) <= taken["server_time"]


@pytest.mark.parametrize("call", ["starting", "renew"])
async def test_one_locked_row_of_a_batch_keeps_nobody_else_waiting(
    database: ScratchDatabase, seed: Seed, call: str
) -> None:
    seed.runs("report", 3)
    async with open_worker(database, seed.credential("w1")) as worker, database.session() as other:
        fences = await worker.claim(3)
        await hold(other, "SELECT FROM tenure.run_leases WHERE attempt = $1 FOR UPDATE", fences[1].attempt)
        rows = await getattr(worker, call)(*fences)
        assert [row["locked"] for row in rows] == [False, True, False]
        await other.execute("COMMIT")
        (again,) = await getattr(worker, call)(fences[1])
        assert again["status"] == rows[0]["status"]


async def test_two_items_of_one_attempt_in_a_batch_have_one_effect(
    database: ScratchDatabase, seed: Seed
) -> None:
    run = seed.run("report")
    async with open_worker(database, seed.credential("w1")) as worker:
        (fence,) = await worker.claim()
        assert [row["status"] for row in await worker.starting(fence, fence)] == ["applied", "replayed"]
        twice = await worker.renew(fence, fence)
        assert [(row["status"], row["lease_version"]) for row in twice] == [("renewed", 2)] * 2
        assert [row["status"] for row in await worker.complete(fence, fence)] == ["applied", "replayed"]
        assert seed.events(run).count("attempt.succeeded") == 1


async def test_one_refused_item_of_a_batch_harms_no_other(database: ScratchDatabase, seed: Seed) -> None:
    seed.runs("report", 2)
    async with (
        open_worker(database, seed.credential("w1")) as worker,
        open_worker(database, seed.credential("w2")) as stranger,
    ):
        mine = await worker.claim()
        theirs = await stranger.claim()
        rows = await worker.starting(*theirs, *mine)
        assert [(row["refusal"], row["status"]) for row in rows] == [
            ("lease_fenced", None),
            (None, "applied"),
        ]


async def test_a_pull_repeated_while_the_first_is_under_way_claims_once(
    database: ScratchDatabase, seed: Seed
) -> None:
    seed.runs("report", 3)
    token = seed.credential("w1")
    async with open_worker(database, token) as one, open_worker(database, token, register=False) as two:
        two.session, two.generation = one.session, one.generation
        offers = fresh_offers(2)
        await one.connection.execute("BEGIN")
        _, *first = await one.pull(offers)
        async with trio.open_nursery() as nursery:
            repeating = Later(nursery, lambda: two.pull(offers))
            await database.wait_until_blocked()
            await one.connection.execute("COMMIT")
            _, *second = await repeating.result()
        assert [{**row, "server_time": None} for row in first] == [
            {**row, "server_time": None} for row in second
        ]
        assert database.value("SELECT count(*) FROM tenure.run_leases") == 2


async def test_different_orders_of_the_same_rows_never_deadlock(
    database: ScratchDatabase, seed: Seed
) -> None:
    seed.runs("report", 8)
    token = seed.credential("w1")

    async def shuffle(worker: SqlWorker, fences: list[Any]) -> None:
        for round_ in range(10):
            order = fences if round_ % 2 else fences[::-1]
            await worker.renew(*order)
            await worker.starting(*order)

    async with open_worker(database, token) as one, open_worker(database, token, register=False) as two:
        two.session, two.generation = one.session, one.generation
        fences = await one.claim(8)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(shuffle, one, fences)
            nursery.start_soon(shuffle, two, fences[::-1])
    assert database.value("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()") == 0
