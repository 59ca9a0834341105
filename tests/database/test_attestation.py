"""Interleavings of an attestation with what else moves a lease, forced."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import trio

from tests.database.test_interleaving import Later, hold
from tests.database.worker import SqlWorker, open_worker, start
from tests.harness import ScratchDatabase
from tests.harness.seed import Seed


async def begun(worker: SqlWorker) -> Any:
    """The fence of an attempt that runs under this session."""
    (fence,) = await worker.claim()
    await start(worker, fence)
    return fence


async def test_an_adoption_is_as_long_as_promised_after_a_wait(database: ScratchDatabase, seed: Seed) -> None:
    run, token = seed.run("report"), seed.credential("w1")
    async with open_worker(database, token) as worker, database.session() as other:
        fence = await begun(worker)
        await hold(other, "SELECT FROM tenure.run_leases FOR UPDATE")
        async with trio.open_nursery() as nursery:
            attesting = Later(nursery, lambda: worker.attest(fence, "running"))
            await database.wait_until_blocked()
            now = database.value("SELECT tenure.clock()")
            await other.execute("COMMIT")
            row = await attesting.result()
        assert row["server_time"] >= now
        assert seed.expiry(run) == row["expires_at"] >= now + timedelta(seconds=30)


async def test_a_replaced_session_renews_neither_during_an_adoption_nor_before(
    database: ScratchDatabase, seed: Seed
) -> None:
    run, token = seed.run("report"), seed.credential("w1")
    async with open_worker(database, token) as older, open_worker(database, token, register=False) as newer:
        fence = await begun(older)
        await newer.register(takeover=True)
        await newer.connection.execute("BEGIN")
        adopted = await newer.attest(fence, "running")
        (during,) = await older.renew(fence)
        assert during["refusal"] == "session_fenced"
        await newer.connection.execute("COMMIT")
        (after,) = await newer.renew(fence)
        assert (after["status"], after["lease_version"]) == ("renewed", adopted["lease_version"] + 1)
        assert seed.lease(run)["session"] == newer.session


async def test_an_adoption_waits_for_a_renewal_and_keeps_what_it_did(
    database: ScratchDatabase, seed: Seed
) -> None:
    run, token = seed.run("report"), seed.credential("w1")
    async with open_worker(database, token) as holder, open_worker(database, token, register=False) as twin:
        fence = await begun(holder)
        twin.session, twin.generation = holder.session, holder.generation
        await holder.connection.execute("BEGIN")
        (renewed,) = await holder.renew(fence)
        async with trio.open_nursery() as nursery:
            attesting = Later(nursery, lambda: twin.attest(fence, "running"))
            await database.wait_until_blocked()
            await holder.connection.execute("COMMIT")
            row = await attesting.result()
        assert row["lease_version"] == renewed["lease_version"] + 1 == seed.lease(run)["version"]


async def test_a_renewal_beside_a_stopped_renews_nothing_afterwards(
    database: ScratchDatabase, seed: Seed
) -> None:
    run, token = seed.run("report"), seed.credential("w1")
    async with open_worker(database, token) as holder, open_worker(database, token, register=False) as twin:
        fence = await begun(holder)
        twin.session, twin.generation = holder.session, holder.generation
        await holder.connection.execute("BEGIN")
        await holder.attest(fence, "stopped")
        (during,) = await twin.renew(fence)
        assert during["locked"]
        await holder.connection.execute("COMMIT")
        before = seed.lease(run)
        (after,) = await twin.renew(fence)
        assert (after["status"], after["disposition"]) == ("terminal", "settled")
        assert seed.lease(run) == before


async def test_a_session_replaced_during_the_wait_adopts_nothing(
    database: ScratchDatabase, seed: Seed
) -> None:
    run, token = seed.run("report"), seed.credential("w1")
    async with (
        open_worker(database, token) as first,
        open_worker(database, token, register=False) as second,
        open_worker(database, token, register=False) as third,
    ):
        fence = await begun(first)
        await first.offline()
        await second.register()
        await third.connection.execute("BEGIN")
        await third.register(takeover=True)
        async with trio.open_nursery() as nursery:
            attesting = Later(nursery, lambda: second.attest(fence, "running"))
            await database.wait_until_blocked()
            await third.connection.execute("COMMIT")
            row = await attesting.result()
        assert (row["status"], row["lease_version"], row["disposition"]) == ("recorded", None, "stop")
        assert seed.lease(run)["session"] == first.session
        assert (await third.attest(fence, "running", 2))["lease_version"] == seed.lease(run)["version"]


async def test_a_replacement_waits_for_an_adoption_and_takes_it_back(
    database: ScratchDatabase, seed: Seed
) -> None:
    run, token = seed.run("report"), seed.credential("w1")
    async with (
        open_worker(database, token) as first,
        open_worker(database, token, register=False) as second,
        open_worker(database, token, register=False) as third,
    ):
        fence = await begun(first)
        await first.offline()
        await second.register()
        await second.connection.execute("BEGIN")
        adopted = await second.attest(fence, "running")
        async with trio.open_nursery() as nursery:
            replacing = Later(nursery, lambda: third.register(takeover=True))
            await database.wait_until_blocked()
            await second.connection.execute("COMMIT")
            taken = await replacing.result()
        # The adopted lease is one of the replaced session's: it expires at once.
        assert seed.expiry(run) <= taken["server_time"] < adopted["expires_at"]


async def test_one_sequence_stated_twice_at_once_is_one_statement(
    database: ScratchDatabase, seed: Seed
) -> None:
    run, token = seed.run("report"), seed.credential("w1")
    async with open_worker(database, token) as one, open_worker(database, token, register=False) as two:
        fence = await begun(one)
        two.session, two.generation = one.session, one.generation
        await one.connection.execute("BEGIN")
        first = await one.attest(fence, "running")
        async with trio.open_nursery() as nursery:
            same = Later(nursery, lambda: two.attest(fence, "running"))
            await database.wait_until_blocked()
            await one.connection.execute("COMMIT")
            second = await same.result()
        assert (first["status"], second["status"]) == ("recorded", "replayed")
        assert first["lease_version"] == second["lease_version"]
        assert seed.events(run).count("attempt.attested") == 1


async def test_a_completion_and_a_statement_wait_for_each_other(
    database: ScratchDatabase, seed: Seed
) -> None:
    run, token = seed.run("report"), seed.credential("w1")
    async with open_worker(database, token) as one, open_worker(database, token, register=False) as two:
        fence = await begun(one)
        two.session, two.generation = one.session, one.generation
        await one.connection.execute("BEGIN")
        await one.complete(fence)
        async with trio.open_nursery() as nursery:
            attesting = Later(nursery, lambda: two.attest(fence, "running"))
            await database.wait_until_blocked()
            await one.connection.execute("COMMIT")
            row = await attesting.result()
        assert (row["status"], row["lease_version"], row["disposition"]) == ("recorded", None, "stop")
        assert seed.lease(run)["state"] == "completed"


async def test_a_claim_counts_what_was_adopted_during_its_wait(database: ScratchDatabase, seed: Seed) -> None:
    seed.runs("report", 2)
    token = seed.credential("w1")
    async with (
        open_worker(database, token) as older,
        open_worker(database, token, register=False) as newer,
        open_worker(database, token, register=False) as twin,
    ):
        fence = await begun(older)
        await newer.register(takeover=True, limit=1)
        twin.session, twin.generation = newer.session, newer.generation
        await newer.connection.execute("BEGIN")
        await newer.attest(fence, "running")
        async with trio.open_nursery() as nursery:
            pulling = Later(nursery, twin.pull)
            await database.wait_until_blocked()
            await newer.connection.execute("COMMIT")
            (summary,) = await pulling.result()
        assert summary["none_reason"] == "at_limit"


async def test_everything_that_moves_a_lease_at_once_never_deadlocks(
    database: ScratchDatabase, seed: Seed
) -> None:
    seed.runs("report", 6)
    token = seed.credential("w1")

    async def state(worker: SqlWorker, fences: list[Any]) -> None:
        for sequence in range(1, 6):
            for fence in fences:
                await worker.attest(fence, "running", sequence)

    async def renew(worker: SqlWorker, fences: list[Any]) -> None:
        for _ in range(15):
            await worker.renew(*fences)
            await worker.starting(*fences[::-1])
            await worker.heartbeat()

    async with (
        open_worker(database, token) as one,
        open_worker(database, token, register=False) as two,
        open_worker(database, token, register=False) as three,
    ):
        fences = await one.claim(6)
        await start(one, *fences)
        for twin in (two, three):
            twin.session, twin.generation = one.session, one.generation
        async with trio.open_nursery() as nursery:
            nursery.start_soon(state, one, fences)
            nursery.start_soon(state, two, fences[::-1])
            nursery.start_soon(renew, three, fences)
    assert database.value("SELECT count(*) FROM tenure.attestations") == 30
    assert database.value("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()") == 0
