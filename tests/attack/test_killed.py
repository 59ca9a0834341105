"""The server ends the connections of the ingress again and again, also between a commit and its answer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import trio

from tests.harness import ScratchDatabase
from tests.harness.fake_worker import FakeWorker, Refused, fresh_offers, open_fake_worker, work_of
from tests.harness.ingress import open_ingress
from tests.harness.seed import Seed

RUNS = 8
WHOLE = [
    *("run.queued", "attempt.claimed", "run.dispatching", "attempt.starting"),
    *("attempt.running", "run.running", "attempt.succeeded", "run.succeeded"),
]


async def until_answered(call: Callable[..., Awaitable[Any]], *arguments: Any, **more: Any) -> Any:
    """Send the same again, as a worker does that is told to come back."""
    while True:
        try:
            return await call(*arguments, **more)
        except Refused as refusal:
            if refusal.code not in ("busy", "database_unavailable"):
                raise
            await trio.sleep(0.01)


async def work_off(worker: FakeWorker, done: list[str]) -> None:
    """Pull, run and report until nothing is left."""
    await until_answered(worker.register, limit=4)
    while len(done) < RUNS:
        offers = fresh_offers(2)
        pulled = await until_answered(worker.offers, offers)
        assert pulled["settled"] == []
        for work in work_of(pulled, offers):
            calls: Sequence[Callable[..., Awaitable[Any]]] = (worker.starting, worker.running, worker.renew)
            for call in calls:
                await until_answered(call, work)
            assert (await until_answered(worker.complete, work))["run_status"] == "succeeded"
            done.append(work.run)


async def kill(database: ScratchDatabase) -> None:
    """Some times in little more than a second: less than the ingress needs to call itself unavailable."""
    for _ in range(8):
        await trio.sleep(0.15)
        database.rows(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND usename = 'tenure_ingress'"
        )


async def test_every_run_has_one_attempt_and_every_event_once(database: ScratchDatabase, seed: Seed) -> None:
    runs = seed.runs("report", RUNS)
    done: list[str] = []
    async with open_ingress(database) as ingress, trio.open_nursery() as killing:
        killing.start_soon(kill, database)
        async with (
            open_fake_worker(ingress.url, seed.credential("w1")) as one,
            open_fake_worker(ingress.url, seed.credential("w2")) as two,
            trio.open_nursery() as working,
        ):
            working.start_soon(work_off, one, done)
            working.start_soon(work_off, two, done)
        killing.cancel_scope.cancel()
    assert sorted(done) == sorted(str(run.run) for run in runs)
    assert [seed.events(run) for run in runs] == [WHOLE] * RUNS
