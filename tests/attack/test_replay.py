"""What is repeated, raced or late, where the answer is easily wrong."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
import trio

from tests.database.worker import SqlWorker, open_worker, start
from tests.harness import ScratchDatabase
from tests.harness.fake_worker import FakeWorker, Refused, fresh_offers, open_fake_worker
from tests.harness.ingress import open_ingress
from tests.harness.seed import Seed

Call = Callable[[FakeWorker], Awaitable[Any]]

RETRY = {"max_attempts": 3, "on": ["failed"], "safety": "idempotent"}


@pytest.mark.parametrize("reason", ["declined", "shutdown"])
async def test_a_decline_is_repeated_after_another_worker_took_the_work(
    database: ScratchDatabase, seed: Seed, reason: str
) -> None:
    run = seed.run("report")
    async with (
        open_worker(database, seed.credential("w1")) as one,
        open_worker(database, seed.credential("w2")) as two,
    ):
        (fence,) = await one.claim()
        assert (await one.decline(fence, reason=reason))[1]["status"] == "released"
        (taken,) = await two.claim()
        assert taken.lease_generation == 2
        events = seed.events(run)
        assert (await one.decline(fence, reason=reason))[1]["status"] == "released"
        # Only who holds the token of that generation is told so.
        assert (await two.decline(fence))[1]["status"] == "fenced"
        stolen = Fences.of(fence, lease_generation=2)
        assert (await one.decline(stolen))[1]["status"] == "fenced"
    assert seed.events(run) == events
    assert seed.lease(run)["state"] == "leased"


async def test_work_that_recovery_took_was_not_given_back(database: ScratchDatabase, seed: Seed) -> None:
    run = seed.run("report")
    async with open_worker(database, seed.credential("w1")) as one:
        (fence,) = await one.claim()
        database.rows("SELECT tenure.return_to_queue($1, 'lease_expired', 'system', now())", run.attempt)
        assert (await one.decline(fence))[1]["status"] == "fenced"
        await one.claim()
        assert (await one.decline(fence))[1]["status"] == "fenced"


class Fences:
    """Fences that differ."""

    @staticmethod
    def of(fence: Any, **changes: Any) -> Any:
        """A copy."""
        return type(fence)(**{name: getattr(fence, name) for name in fence.__struct_fields__} | changes)


async def race(database: ScratchDatabase, one: FakeWorker, two: FakeWorker, call: Call) -> list[Any]:
    """Both send the same at the same moment: each waits for a lock that is let go for both."""
    answers: list[Any] = []

    async def ask(worker: FakeWorker) -> None:
        try:
            answers.append(await call(worker))
        except Refused as refusal:
            answers.append(refusal.code)

    async with database.session() as block, trio.open_nursery() as nursery:
        await block.execute("BEGIN; LOCK TABLE tenure.run_leases, tenure.worker_sessions IN SHARE MODE")
        nursery.start_soon(ask, one)
        nursery.start_soon(ask, two)
        await database.wait_until_blocked(2)
        await block.execute("COMMIT")
    return answers


async def test_one_offer_id_used_by_two_at_once_is_repeated_not_a_fault(
    database: ScratchDatabase, seed: Seed
) -> None:
    seed.runs("report", 4)
    offers = fresh_offers(1)

    async def pull(worker: FakeWorker) -> Any:
        return await worker.offers(offers)

    async with (
        open_ingress(database) as ingress,
        open_fake_worker(ingress.url, seed.credential("w1")) as one,
        open_fake_worker(ingress.url, seed.credential("w2")) as two,
    ):
        await one.register()
        await two.register()
        answers = await race(database, one, two, pull)
        won = [answer for answer in answers if answer != "busy"]
        assert sum(len(answer["offered"]) for answer in won) == 1
        again = [await pull(worker) for worker in (one, two)]
    assert sorted(len(answer["offered"]) for answer in again) == [0, 1]
    assert sorted(len(answer["settled"]) for answer in again) == [0, 1]
    assert database.value("SELECT count(*) FROM tenure.run_leases") == 1


async def test_one_session_id_used_by_two_workers_at_once_is_one_session(
    database: ScratchDatabase, seed: Seed
) -> None:
    async with (
        open_ingress(database) as ingress,
        open_fake_worker(ingress.url, seed.credential("w1")) as one,
        open_fake_worker(ingress.url, seed.credential("w2")) as two,
    ):
        one.session = two.session = str(uuid4())
        answers = await race(database, one, two, FakeWorker.register)
        assert answers.count("busy") + answers.count("session_fenced") == 1
        refused = []
        for worker in (one, two):
            try:
                await worker.register()
            except Refused as refusal:
                refused.append(refusal.code)
    assert refused == ["session_fenced"]


async def test_a_start_ends_the_count_of_claims_without_one(database: ScratchDatabase, seed: Seed) -> None:
    seed.task("again", retry=RETRY)
    run = seed.run("again")
    async with open_worker(database, seed.credential("w1")) as worker:
        await decline_often(database, worker, 15)
        (fence,) = await worker.claim()
        await start(worker, fence)
        await worker.complete(fence, outcome="failed", exit_code=1)
    assert database.value("SELECT unstarted_claims FROM tenure.runs WHERE run = $1", run.run) == 0


async def test_a_run_to_be_cancelled_does_not_fail_for_want_of_a_start(
    database: ScratchDatabase, seed: Seed
) -> None:
    run = seed.run("report")
    async with open_worker(database, seed.credential("w1")) as worker:
        await decline_often(database, worker, 15)
        (fence,) = await worker.claim()
        seed.request_cancel(run)
        assert (await worker.decline(fence))[1]["status"] == "released"
    assert seed.status(run) == ("queued", "claimed")


async def decline_often(database: ScratchDatabase, worker: SqlWorker, times: int) -> None:
    """Claims without a start, each at a time when the session is offered the work again."""
    for _ in range(times):
        (fence,) = await worker.claim()
        await worker.decline(fence)
        database.shift(timedelta(seconds=31))


async def test_work_that_cannot_be_had_costs_no_look_at_all_of_it(
    database: ScratchDatabase, seed: Seed
) -> None:
    seed.runs("report", 40)
    database.execute("UPDATE tenure.runs SET cancel_requested_at = now(), cancel_reason = 'user'")
    async with open_worker(database, seed.credential("w1")) as worker:
        index = database.value("SELECT 'tenure.placement_classes_pkey'::regclass::oid")
        await worker.connection.execute("BEGIN")
        (summary,) = await worker.pull()
        assert summary["none_reason"] == "no_work"
        assert await worker.connection.value("SELECT pg_stat_get_xact_numscans($1)", index) < 5
        await worker.connection.execute("COMMIT")
        seed.task("special", placement={"require": {"gpu": "yes"}})
        seed.run("special")
        (summary,) = await worker.pull()
        assert summary["none_reason"] == "no_match"


async def test_a_start_time_that_cannot_be_is_flagged(database: ScratchDatabase, seed: Seed) -> None:
    run = seed.run("report")
    async with open_worker(database, seed.credential("w1")) as worker:
        (fence,) = await worker.claim()
        await worker.starting(fence)
        await worker.complete(fence, started_at=datetime(1, 1, 1, tzinfo=UTC))
    payload = database.value(
        "SELECT payload ->> 'times_clamped' FROM tenure.run_events"
        " WHERE run = $1 AND type = 'attempt.succeeded'",
        run.run,
    )
    assert payload == "true"


async def test_a_clock_that_goes_back_takes_no_stored_time_along(
    database: ScratchDatabase, seed: Seed
) -> None:
    token = seed.credential("w1")
    database.shift(timedelta(hours=1))
    run = seed.run("report")
    async with open_worker(database, token) as worker:
        (fence,) = await worker.claim()
        await start(worker, fence)
        database.shift(timedelta(minutes=-30))
        assert (await worker.heartbeat())["refusal"] is None
        (renewed,) = await worker.renew(fence)
        assert renewed["status"] == "renewed"
        await worker.complete(fence)
    (times,) = database.rows(
        "SELECT ARRAY[l.acquired_at, l.renewed_at, l.expires_at] AS lease,"
        " ARRAY[a.barrier_at, a.started_at, a.finished_at, a.ended_at] AS attempt,"
        " ARRAY[r.queued_at, r.started_at, r.finished_at] AS run,"
        " ARRAY[s.registered_at, s.seen_at] AS session"
        " FROM tenure.runs r JOIN tenure.run_attempts a USING (run) JOIN tenure.run_leases l USING (attempt)"
        " JOIN tenure.worker_sessions s USING (session) WHERE r.run = $1",
        run.run,
    )
    for of, moments in times.items():
        assert moments == sorted(moments), of
