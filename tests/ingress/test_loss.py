"""A database that is taken from an ingress that serves: read-only, with other rights, frozen; and back."""

from __future__ import annotations

import os
import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest
import trio

from tenure.embedded import EmbeddedServer
from tenure_postgres.database import open_database
from tests.harness import ScratchDatabase
from tests.harness.blocking import BlockingConnection
from tests.harness.fake_worker import FakeWorker, fresh_offers, open_fake_worker, refused
from tests.harness.fixture import temporary_server
from tests.harness.ingress import RunningIngress, open_ingress
from tests.harness.seed import Seed
from tests.harness.template import prepare_template
from tests.ingress.conftest import started


@pytest.fixture(autouse=True)
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    """The ingress looks at its database ten times a second."""
    monkeypatch.setattr("tenure_ingress.database.LOOK_S", 0.1)


@pytest.mark.parametrize("whom", ["DATABASE {name}", "ROLE tenure_ingress IN DATABASE {name}"])
async def test_a_server_that_became_read_only_is_told_and_left_alone(
    worker: FakeWorker, ingress: RunningIngress, seed: Seed, database: ScratchDatabase, whom: str
) -> None:
    work = await started(seed, worker)
    switch = f"ALTER {whom.format(name=database.name)} SET default_transaction_read_only"
    database.execute(f"{switch} = on")
    database.kill_backends("tenure_ingress")  # it holds for new sessions, as after a promotion elsewhere
    await ingress.wait_status("unavailable")
    (reason,) = (await ingress.probe("/readyz")).json()["reasons"]
    assert "the server is read-only" in reason
    assert (await ingress.probe("/livez")).status_code == 200
    with refused("database_unavailable"):
        await worker.renew(work)
    database.execute(f"{switch} = off")
    database.kill_backends("tenure_ingress")
    await ingress.wait_status("ready", within_s=5)
    assert (await worker.complete(work))["status"] == "applied"


async def test_rights_that_were_taken_away_are_noticed(
    worker: FakeWorker, ingress: RunningIngress, database: ScratchDatabase
) -> None:
    function = "FUNCTION ingress_api.heartbeat_v1(text[], bytea[], uuid[], integer[])"
    database.execute(f"REVOKE EXECUTE ON {function} FROM tenure_ingress")
    await ingress.wait_status("unavailable")
    (reason,) = (await ingress.probe("/readyz")).json()["reasons"]
    assert "tenure_ingress lacks EXECUTE on function ingress_api.heartbeat_v1" in reason
    database.execute(f"GRANT EXECUTE ON {function} TO tenure_ingress")
    await ingress.wait_status("ready", within_s=5)
    await worker.heartbeat()


@pytest.fixture
def own_server() -> Iterator[EmbeddedServer]:
    """A server that may be frozen."""
    with temporary_server() as server:
        yield server


@pytest.fixture
def own_database(own_server: EmbeddedServer) -> Iterator[ScratchDatabase]:
    """A migrated database there."""
    with BlockingConnection(own_server.dsn()) as admin:
        admin.execute("CREATE DATABASE frozen")
    prepare_template(own_server, "frozen")
    database = ScratchDatabase(own_server, "frozen")
    yield database
    database.close()


@pytest.fixture
async def own_ingress(
    own_database: ScratchDatabase, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[RunningIngress]:
    """An ingress over it, less patient than ours, so that the test takes less time."""
    monkeypatch.setattr("tenure_ingress.database.ANSWER_S", 0.5)
    monkeypatch.setattr("tenure_ingress.lanes.open_database", partial(open_database, deadline_s=1.5))
    async with open_ingress(own_database) as ingress:
        yield ingress


@contextmanager
def frozen(server: EmbeddedServer) -> Iterator[None]:
    """Every process of the server stopped, for the block."""
    pids = _processes(server)
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGCONT)


def _processes(server: EmbeddedServer) -> list[int]:
    """The postmaster first, so that it starts none that we would miss."""
    postmaster = int((server.place.data / "postmaster.pid").read_text().split()[0])
    return [postmaster, *(pid for pid, parent in _parents() if parent == postmaster)]


def _parents() -> Iterator[tuple[int, int]]:
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            text = stat.read_text()
        except OSError:
            continue  # it ended in the meantime
        yield int(stat.parent.name), int(text.rpartition(")")[2].split()[1])


async def test_a_frozen_database_is_an_outage_and_never_a_restart(
    own_database: ScratchDatabase, own_server: EmbeddedServer, own_ingress: RunningIngress
) -> None:
    seed = Seed(own_database)
    seed.task("report")
    async with open_fake_worker(own_ingress.url, seed.credential("w1")) as worker:
        await worker.register()
        work = await started(seed, worker)
        with frozen(own_server):
            with trio.fail_after(3), refused("database_unavailable"):
                await worker.offers(fresh_offers())
            await own_ingress.wait_status("unavailable")
            assert (await own_ingress.probe("/livez")).status_code == 200
            assert (await own_ingress.probe("/readyz")).status_code == 503
            with trio.fail_after(1), refused("database_unavailable") as answers:
                await worker.heartbeat()
            assert int(answers[0].headers["Retry-After"]) >= 2
        await own_ingress.wait_status("ready", within_s=5)
        assert (await worker.renew(work))["leases"][0]["status"] == "renewed"
        assert own_ingress.exit_code is None
