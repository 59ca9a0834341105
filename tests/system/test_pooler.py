"""Everything through PgBouncer in transaction mode: readiness, a worker's life, the pooler's own end."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
import trio

from tests.harness.blocking import BlockingConnection
from tests.harness.control import open_control
from tests.harness.database import ScratchDatabase
from tests.harness.fake_worker import FakeWorker, Refused, Work, fresh_offers, item, open_fake_worker
from tests.harness.fixture import temporary_server
from tests.harness.ingress import RunningIngress, open_ingress
from tests.harness.pooler import Pooler, temporary_pooler
from tests.harness.seed import Seed
from tests.harness.template import prepare_template

NAME = "pooled"
PASSWORDS = {role: f"pass word/{role}" for role in ("tenure_ingress", "tenure_control", "tenure_operator")}
WORKERS = 8


@dataclass(frozen=True)
class Pooled:
    """A database and the pooler before it."""

    database: ScratchDatabase
    pooler: Pooler
    seed: Seed


@pytest.fixture(scope="module")
def pooled() -> Iterator[Pooled]:
    """A server of its own that wants passwords, and a pooler before it."""
    with temporary_server(tcp=True) as server:
        with BlockingConnection(server.dsn()) as connection:
            connection.execute(f"CREATE DATABASE {NAME}")
            prepare_template(server, NAME)
            for role, password in PASSWORDS.items():
                connection.execute(f"ALTER ROLE {role} PASSWORD '{password}'")
        database = ScratchDatabase(server, NAME)
        seed = Seed(database)
        seed.task("report")
        with temporary_pooler(server, NAME, PASSWORDS) as pooler:
            yield Pooled(database, pooler, seed)
        database.close()


def through(pooled: Pooled) -> dict[str, Any]:
    """The settings of an ingress behind the pooler."""
    server = pooled.database.server
    direct = server.tcp_dsn("tenure_ingress", PASSWORDS["tenure_ingress"], NAME)
    return {"database_url": pooled.pooler.dsn("tenure_ingress"), "direct_url": direct, "statements": 0}


async def live(worker: FakeWorker) -> list[str]:
    """Every call of a worker's life, with work until there is none; the runs that it ended."""
    await worker.register(limit=2)
    await worker.heartbeat()
    done: list[str] = []
    while works := await worker.pull(2):
        for work in works:
            await execute(worker, work)
            done.append(work.run)
    assert await worker.leases() == []
    await worker.drain()
    await worker.offline()
    return done


async def execute(worker: FakeWorker, work: Work) -> None:
    """One attempt, with reports alone and together."""
    await worker.starting(work)
    started, renewed = await worker.exchange(
        item("running", work, executor_handle=work.executor_handle, started_at=work.started_at),
        item("renew", work),
    )
    assert (started["status"], renewed["status"]) == (200, 200)
    await worker.attest(work)
    await worker.renew(work)
    assert (await worker.complete(work))["run_status"] == "succeeded"


async def test_a_fleet_lives_through_the_pooler(pooled: Pooled) -> None:
    seed = pooled.seed
    runs = seed.runs("report", 3 * WORKERS)
    done: list[str] = []
    async with open_ingress(pooled.database, **through(pooled)) as ingress, trio.open_nursery() as nursery:

        async def one(name: str) -> None:
            async with open_fake_worker(ingress.url, seed.credential(name)) as worker:
                done.extend(await live(worker))

        for number in range(WORKERS):
            nursery.start_soon(one, f"fleet{number}")
    assert sorted(done) == sorted(str(run.run) for run in runs)
    for run in runs:
        assert seed.events(run)[-1] == "run.succeeded"


async def test_a_waiting_pull_hears_of_work_over_the_direct_connection(pooled: Pooled) -> None:
    seed = pooled.seed
    async with (
        open_ingress(pooled.database, **through(pooled)) as ingress,
        open_fake_worker(ingress.url, seed.credential("waiting")) as worker,
        trio.open_nursery() as nursery,
    ):
        await worker.register()
        offered: list[object] = []

        async def wait() -> None:
            offered.extend((await worker.offers(fresh_offers(), wait_s=5))["offered"])

        nursery.start_soon(wait)
        run = seed.run("report")
        pooled.database.execute("SELECT pg_notify('tenure_dispatch', '')")
    assert len(offered) == 1
    assert seed.status(run)[1] == "claimed"


async def comes_back(worker: FakeWorker, ingress: RunningIngress) -> None:
    """Send heartbeats until one is answered; whatever else is said meanwhile is `come back later`."""
    with trio.fail_after(15):
        while True:
            answer = await worker.send(
                "heartbeat", {"request_id": str(uuid4()), "generation": worker.generation}
            )
            if answer.status_code == 200:
                break
            assert (answer.status_code, answer.json()["disposition"]) == (503, "retry")
            await trio.sleep(0.05)
    await ingress.wait_status("ready")


async def test_the_pooler_is_restarted_under_a_worker(pooled: Pooled) -> None:
    seed, pooler = pooled.seed, pooled.pooler
    run = seed.run("report")
    async with (
        open_ingress(pooled.database, **through(pooled)) as ingress,
        open_fake_worker(ingress.url, seed.credential("w1")) as worker,
    ):
        await worker.register()
        (work,) = [work for work in await worker.pull() if work.run == str(run.run)]
        await worker.starting(work)
        pooler.stop()
        with pytest.raises(Refused) as caught:
            await worker.running(work)
        assert caught.value.code == "database_unavailable"
        pooler.start()
        await comes_back(worker, ingress)
        await worker.running(work)
        await worker.renew(work)
        assert (await worker.complete(work))["run_status"] == "succeeded"


async def test_control_works_through_the_pooler(pooled: Pooled) -> None:
    settings: dict[str, Any] = {
        "database_url": pooled.pooler.dsn("tenure_control"),
        "operator_database_url": pooled.pooler.dsn("tenure_operator"),
        "direct_url": pooled.database.dsn("tenure_control"),
        "statements": 0,
    }
    pooled.seed.trigger("often", "report", cron="* * * * * *")
    before = pooled.database.value("SELECT count(*) FROM tenure.runs")
    async with open_control(pooled.database, **settings) as control:
        await control.cycle()  # looks at the new trigger, and says when it is due
        pooled.database.shift(timedelta(seconds=2))
        await control.cycle()
    assert pooled.database.value("SELECT count(*) FROM tenure.runs") > before
