"""The process: what it waits for, what it refuses to start on, what it survives, and the order of its end."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from functools import partial
from typing import Any

import pytest
import trio

from tests.harness import FaultProxy, ScratchDatabase, open_proxy
from tests.harness.fake_worker import FakeWorker, fresh_offers, open_fake_worker, refused
from tests.harness.fixture import MakeDatabase
from tests.harness.ingress import RunningIngress, exit_code, ingress_settings, open_ingress
from tests.harness.seed import Seed
from tests.harness.template import bare, with_roles
from tests.ingress.conftest import claim, started
from tenure_ingress.app import serve
from tenure_ingress.settings import Address


def named(log: list[Any], event: str) -> Any:
    """The only entry of this name."""
    (entry,) = [entry for entry in log if entry["event"] == event]
    return entry


async def test_it_is_ready_only_when_everything_is(ingress: RunningIngress) -> None:
    assert ingress.events == ["listening", "ready"]
    assert (await ingress.probe("/livez")).status_code == 200
    ready = await ingress.probe("/readyz")
    assert (ready.status_code, ready.json()) == (200, {"status": "ready", "reasons": []})


async def test_the_end_keeps_its_order(worker: FakeWorker, ingress: RunningIngress) -> None:
    assert await ingress.stop() == 0
    assert ingress.events[2:] == ["draining", "drained", "lanes_flushed", "pool_closed", "listener_closed"]
    assert named(ingress.log, "drained")["left"] == {}


async def test_requests_in_flight_are_answered_before_the_end(
    worker: FakeWorker, ingress: RunningIngress, seed: Seed, database: ScratchDatabase
) -> None:
    work = await started(seed, worker)
    answers = []

    async def complete() -> None:
        answers.append(await worker.complete(work))

    async with database.session() as other, trio.open_nursery() as nursery:
        await other.execute("BEGIN; LOCK TABLE tenure.run_leases IN ACCESS EXCLUSIVE MODE")
        nursery.start_soon(complete)
        await database.wait_until_blocked()
        ingress.signal()
        await ingress.wait_status("draining")
        await other.execute("COMMIT")
    assert answers[0]["status"] == "applied"
    assert await ingress.wait_ended() == 0
    assert named(ingress.log, "draining")["in_flight"] == 1


async def test_what_does_not_end_in_time_is_cut_and_told(seed: Seed, database: ScratchDatabase) -> None:
    async with (
        open_ingress(database, drain_budget_s=0.2) as ingress,
        open_fake_worker(ingress.url, seed.credential("w1")) as worker,
    ):
        await worker.register()
        work = await started(seed, worker)
        async with database.session() as other, trio.open_nursery() as nursery:
            await other.execute("BEGIN; LOCK TABLE tenure.run_leases IN ACCESS EXCLUSIVE MODE")
            nursery.start_soon(_ignoring_disconnection, partial(worker.complete, work))
            await database.wait_until_blocked()
            assert await ingress.stop() == 1
            assert named(ingress.log, "drained")["left"] == {"complete": 1}


async def _ignoring_disconnection(call: Any) -> None:
    import httpx

    with pytest.raises(httpx.HTTPError):
        await call()


async def test_a_second_signal_cuts(
    worker: FakeWorker, ingress: RunningIngress, seed: Seed, database: ScratchDatabase
) -> None:
    work = await started(seed, worker)
    async with database.session() as other, trio.open_nursery() as nursery:
        await other.execute("BEGIN; LOCK TABLE tenure.run_leases IN ACCESS EXCLUSIVE MODE")
        nursery.start_soon(_ignoring_disconnection, partial(worker.complete, work))
        await database.wait_until_blocked()
        ingress.signal()
        await ingress.wait_status("draining")
        ingress.signal()
        assert await ingress.wait_ended() == 1
        assert "cut_short" in ingress.events
