"""Control, ingress and workers together, over one database: nothing is lost, nothing happens twice."""

from __future__ import annotations

from contextlib import AsyncExitStack
from datetime import timedelta
from typing import Any

import pytest
import trio

from tests.harness import ScratchDatabase
from tests.harness.control import open_control
from tests.harness.fake_worker import FakeWorker, Work, open_fake_worker, refused
from tests.harness.ingress import open_ingress
from tests.harness.seed import Seed

RETRIES = {"max_attempts": 3, "on": ["failed"]}
LEASE = timedelta(seconds=31)


@pytest.fixture
def seed(database: ScratchDatabase) -> Seed:
    """Rows to begin with."""
    return Seed(database)


async def work_off(worker: FakeWorker, left: list[int]) -> None:
    """Pull, execute and complete until all runs are done: what a worker process does, without the process."""
    await worker.register(limit=16)
    while left[0] > 0:
        for work in await worker.pull(16):
            await worker.start(work)
            await worker.renew(work)
            await worker.complete(work, output={"by": worker.session})
            left[0] -= 1
        await trio.sleep(0.01)


async def test_two_controls_two_ingresses_four_workers_and_500_runs(
    database: ScratchDatabase, seed: Seed
) -> None:
    seed.task("hello", command=["echo"])
    runs = seed.runs("hello", 500)
    left = [len(runs)]
    async with AsyncExitStack() as stack:
        for _ in range(2):
            await stack.enter_async_context(open_control(database, interval_s=0.25))
        urls = [(await stack.enter_async_context(open_ingress(database))).url for _ in range(2)]
        workers = [
            await stack.enter_async_context(open_fake_worker(urls[n % 2], seed.credential(f"w{n}")))
            for n in range(4)
        ]
        with trio.fail_after(100):
            async with trio.open_nursery() as nursery:
                for worker in workers:
                    nursery.start_soon(work_off, worker, left)

    assert left == [0]
    assert database.value("SELECT count(*) FROM tenure.runs WHERE status = 'succeeded'") == len(runs)
    assert database.value("SELECT count(*) FROM tenure.run_attempts") == len(runs), "one attempt each"
    assert database.value("SELECT count(*) FROM tenure.run_leases WHERE generation > 1") == 0
    gaps = database.value(
        "SELECT count(*) FROM tenure.runs r WHERE r.event_sequence <> ("
        " SELECT count(*) FROM tenure.run_events e WHERE e.run = r.run AND e.sequence <= r.event_sequence)"
    )
    assert gaps == 0
    assert database.value("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()") == 0


@pytest.mark.parametrize("retry", [None, RETRIES])
async def test_killed_between_pull_and_start_goes_to_another_worker(
    database: ScratchDatabase, seed: Seed, retry: dict[str, Any] | None
) -> None:
    more: dict[str, Any] = {"retry": retry} if retry else {}
    seed.task("hello", command=["echo"], **more)
    run = seed.run("hello")
    async with (
        open_control(database) as control,
        open_ingress(database) as ingress,
        open_fake_worker(ingress.url, seed.credential("w1")) as killed,
        open_fake_worker(ingress.url, seed.credential("w2")) as other,
    ):
        await killed.register()
        await other.register()
        (first,) = await killed.pull()
        assert await other.pull() == [], "while the lease is live nobody else gets it"

        database.shift(LEASE)
        await control.cycle()
        assert seed.status(run) == ("queued", "claimed")
        (second,) = await other.pull()
        assert second.attempt == first.attempt
        assert second.lease_generation == first.lease_generation + 1

        with refused("lease_fenced"):
            await killed.starting(first)
        await other.start(second)
        await other.complete(second)
    assert seed.status(run) == ("succeeded", "succeeded")
    assert database.value("SELECT count(*) FROM tenure.run_attempts") == 1, "nothing was spent"


async def test_killed_after_the_start_is_not_run_again(database: ScratchDatabase, seed: Seed) -> None:
    seed.task("charge", command=["echo"], retry=RETRIES)
    run = seed.run("charge")
    async with (
        open_control(database) as control,
        open_ingress(database) as ingress,
        open_fake_worker(ingress.url, seed.credential("w1")) as killed,
        open_fake_worker(ingress.url, seed.credential("w2")) as other,
    ):
        await killed.register()
        await other.register()
        (work,) = await killed.pull()
        await killed.start(work)
        for _ in range(4):
            database.shift(timedelta(minutes=10))
            await control.cycle()
            assert await other.pull() == []
        assert seed.status(run) == ("running", "running")
        assert database.value("SELECT count(*) FROM tenure.run_attempts") == 1

        late = await killed.complete(work)
        assert (late["status"], late["late"]) == ("applied", True), (
            "the truth is worth more than the deadline"
        )
    assert seed.status(run) == ("succeeded", "succeeded")


async def test_a_failing_run_is_retried_as_its_policy_says(database: ScratchDatabase, seed: Seed) -> None:
    seed.task("flaky", command=["echo"], retry=RETRIES)
    run = seed.run("flaky")
    async with (
        open_control(database) as control,
        open_ingress(database) as ingress,
        open_fake_worker(ingress.url, seed.credential("w1")) as worker,
    ):
        await worker.register()
        for number in (1, 2, 3):
            (work,) = await _next(control, worker, database)
            assert work.facts["attempt"]["number"] == number
            await worker.start(work)
            await worker.complete(work, "failed", error={"code": "exit", "message": "3"})
        assert await _next(control, worker, database) == []
    assert seed.status(run) == ("failed", "failed")


async def test_a_trigger_of_two_controls_fires_each_occurrence_once(
    database: ScratchDatabase, seed: Seed
) -> None:
    seed.task("hello", command=["echo"])
    seed.trigger("minutely", task="hello", cron="* * * * *", timezone="UTC")
    async with open_control(database) as one, open_control(database) as two:
        for _ in range(6):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(one.cycle)
                nursery.start_soon(two.cycle)
            database.shift(timedelta(minutes=1))
    instants = [row["scheduled_for"] for row in database.rows("SELECT scheduled_for FROM tenure.runs")]
    assert len(instants) in (4, 5), "the first look initialises, each later minute fires"
    assert len(set(instants)) == len(instants)
    assert all(instant.second == 0 for instant in instants)


async def _next(control: Any, worker: FakeWorker, database: ScratchDatabase) -> list[Work]:
    """What is dispatchable once every delay has passed."""
    database.shift(timedelta(minutes=10))
    await worker.heartbeat()
    await control.cycle()
    return await worker.pull()
