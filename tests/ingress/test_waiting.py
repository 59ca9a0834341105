"""Pulls that wait, at a real database: what wakes them, what ends them, and what they leave behind."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
import trio

from tenure_contracts.channel import DISPATCH
from tenure_http.limits import Limits
from tenure_ingress.waiting import SPARE
from tests.harness import FaultProxy, ScratchDatabase, open_proxy
from tests.harness.fake_worker import FakeWorker, Refused, fresh_offers, open_fake_worker
from tests.harness.ingress import RunningIngress, open_ingress
from tests.harness.seed import Seed
from tests.ingress.conftest import claim

PATIENCE_S = 10


class Pulling:
    """A pull that waits beside the test. `answer` is there once it has one."""

    def __init__(self, worker: FakeWorker, nursery: trio.Nursery, **how: Any) -> None:
        self.offers = how.pop("offers", None) or fresh_offers(how.pop("count", 1))
        self.answer: Any = None
        self.refusal: Refused | None = None
        self._worker = worker
        self._how = {"wait_s": 30, **how}
        self._done = trio.Event()
        nursery.start_soon(self._run)

    async def _run(self) -> None:
        try:
            self.answer = await self._worker.offers(self.offers, **self._how)
        except Refused as refusal:
            self.refusal = refusal
        self._done.set()

    @property
    def attempts(self) -> list[str]:
        """What was offered."""
        return [offered["attempt"]["attempt"] for offered in self.answer["offered"]]

    async def result(self, within_s: float = PATIENCE_S) -> Any:
        """The answer."""
        with trio.fail_after(within_s):
            await self._done.wait()
        assert self.refusal is None, self.refusal
        return self.answer


async def metric(ingress: RunningIngress, name: str) -> float:
    """The value of one of the series about waiting pulls."""
    lines = (await ingress.probe("/metrics")).text.splitlines()
    (line,) = [line for line in lines if line.startswith(f"tenure_ingress_waiting_pulls{name} ")]
    return float(line.rpartition(" ")[2])


async def wait_for(ingress: RunningIngress, count: int) -> None:
    """Wait until so many pulls wait."""
    with trio.fail_after(PATIENCE_S):
        while await metric(ingress, "") != count:  # noqa: ASYNC110 - asked over HTTP
            await trio.sleep(0.01)


def tell(database: ScratchDatabase, session: str = "") -> None:
    """What whoever made work dispatchable, or has something to say to a session, does after its commit."""
    database.rows("SELECT pg_notify($1, $2)", DISPATCH, session)


@pytest.fixture
def deaf(monkeypatch: pytest.MonkeyPatch) -> None:
    """No question is asked by time alone."""
    monkeypatch.setattr("tenure_ingress.waiting.LOOK_S", 600.0)


@asynccontextmanager
async def listening(ingress: RunningIngress, database: ScratchDatabase) -> AsyncIterator[trio.Nursery]:
    """A nursery for pulls; the ingress hears notifications from the beginning."""
    await database.wait_until(
        "count(*) > 0 FROM pg_stat_activity WHERE datname = current_database()"
        " AND application_name = 'tenure ingress listen' AND query LIKE 'LISTEN%'"
    )
    async with trio.open_nursery() as nursery:
        yield nursery
        nursery.cancel_scope.cancel()


@pytest.mark.usefixtures("deaf")
async def test_a_notification_wakes_a_pull_at_once(
    worker: FakeWorker, ingress: RunningIngress, seed: Seed, database: ScratchDatabase
) -> None:
    async with listening(ingress, database) as nursery:
        pulling = Pulling(worker, nursery)
        await wait_for(ingress, 1)
        run = seed.run("report")
        tell(database)
        answer = await pulling.result()
        assert pulling.attempts == [str(run.attempt)]
        assert (answer["none"], answer["retry_after_s"]) == (None, None)
        assert await metric(ingress, "") == 0


@pytest.mark.usefixtures("deaf")
async def test_the_oldest_pull_is_served_first(
    worker: FakeWorker, other: FakeWorker, ingress: RunningIngress, seed: Seed, database: ScratchDatabase
) -> None:
    async with listening(ingress, database) as nursery:
        older = Pulling(worker, nursery)
        await wait_for(ingress, 1)
        younger = Pulling(other, nursery)
        await wait_for(ingress, 2)
        for pulling in (older, younger):
            run = seed.run("report")
            tell(database)
            await pulling.result()
            assert pulling.attempts == [str(run.attempt)]


async def test_without_notifications_the_next_question_finds_it(
    seed: Seed, database: ScratchDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tenure_ingress.waiting.LOOK_S", 0.2)
    async with open_proxy(database.server.socket_path) as proxy:
        proxy.refuse()
        url = proxy.dsn(database.dsn("tenure_ingress"))
        async with (
            open_ingress(database, direct_url=url) as ingress,
            open_fake_worker(ingress.url, seed.credential("w1")) as worker,
            trio.open_nursery() as nursery,
        ):
            await worker.register()
            pulling = Pulling(worker, nursery)
            await wait_for(ingress, 1)
            run = seed.run("report")
            await pulling.result(2)
            assert pulling.attempts == [str(run.attempt)]


@pytest.mark.usefixtures("deaf")
async def test_a_listener_that_was_cut_listens_again_and_looks(
    worker: FakeWorker, ingress: RunningIngress, seed: Seed, database: ScratchDatabase
) -> None:
    async with listening(ingress, database) as nursery:
        pulling = Pulling(worker, nursery)
        await wait_for(ingress, 1)
        seed.run("report")
        database.rows(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND application_name = 'tenure ingress listen'"
        )
        assert (await pulling.result())["offered"]


@pytest.mark.usefixtures("deaf")
async def test_work_that_one_replica_returns_wakes_a_pull_of_another(
    seed: Seed, database: ScratchDatabase
) -> None:
    async with (
        open_ingress(database) as one,
        open_ingress(database) as two,
        open_fake_worker(one.url, seed.credential("w1")) as here,
        open_fake_worker(two.url, seed.credential("w2")) as there,
        listening(two, database) as nursery,
    ):
        await here.register()
        await there.register()
        work = await claim(seed, here)
        pulling = Pulling(there, nursery)
        await wait_for(two, 1)
        await here.decline(work)
        await pulling.result()
        assert pulling.attempts == [work.attempt]


async def test_one_attempt_is_one_lease_whoever_waits_where(seed: Seed, database: ScratchDatabase) -> None:
    async with (
        open_ingress(database) as one,
        open_ingress(database) as two,
        open_fake_worker(one.url, seed.credential("w1")) as here,
        open_fake_worker(two.url, seed.credential("w2")) as there,
        listening(one, database) as nursery,
    ):
        await here.register()
        await there.register()
        pulls = [Pulling(worker, nursery) for worker in (here, there) for _ in range(6)]
        await wait_for(one, 6)
        await wait_for(two, 6)
        seed.run("report")
        tell(database)
        await database.wait_until("count(*) = 1 FROM tenure.run_leases")
        with trio.fail_after(PATIENCE_S):
            while await metric(one, "") + await metric(two, "") != 11:  # noqa: ASYNC110 - asked over HTTP
                await trio.sleep(0.01)
        calls = [await metric(ingress, "_calls_total") for ingress in (one, two)]
        assert sum(calls) <= 2 * (1 + SPARE)
        assert sum(len(pull.attempts) for pull in pulls if pull.answer) <= 1


@pytest.mark.usefixtures("deaf")
async def test_what_a_session_declined_goes_to_the_next_that_waits(
    worker: FakeWorker, other: FakeWorker, ingress: RunningIngress, seed: Seed, database: ScratchDatabase
) -> None:
    work = await claim(seed, worker)
    async with listening(ingress, database) as nursery:
        mine = Pulling(worker, nursery)
        await wait_for(ingress, 1)
        theirs = Pulling(other, nursery)
        await wait_for(ingress, 2)
        await worker.decline(work)
        await theirs.result()
        assert theirs.attempts == [work.attempt]
        assert await metric(ingress, "_vain_total") == 1
        run = seed.run("report")
        tell(database)
        await mine.result()
        assert mine.attempts == [str(run.attempt)]


@pytest.mark.usefixtures("deaf")
async def test_a_session_that_was_replaced_learns_it_when_it_is_called(
    worker: FakeWorker, other: FakeWorker, ingress: RunningIngress, seed: Seed, database: ScratchDatabase
) -> None:
    async with listening(ingress, database) as nursery:
        replaced = Pulling(worker, nursery)
        await wait_for(ingress, 1)
        theirs = Pulling(other, nursery)
        await wait_for(ingress, 2)
        await worker.another().register(takeover=True)
        seed.run("report")
        tell(database)
        assert (await theirs.result())["offered"]
        with pytest.raises(AssertionError, match="session_fenced"):
            await replaced.result()


@pytest.mark.usefixtures("deaf")
async def test_a_drain_that_an_operator_asks_for_ends_the_wait_of_that_session(
    worker: FakeWorker, other: FakeWorker, ingress: RunningIngress, seed: Seed, database: ScratchDatabase
) -> None:
    async with listening(ingress, database) as nursery:
        asked = Pulling(worker, nursery)
        Pulling(other, nursery)
        await wait_for(ingress, 2)
        database.execute(
            "UPDATE tenure.worker_sessions SET drain_requested_at = tenure.clock() WHERE session = $1",
            worker.session,
        )
        tell(database, worker.session)
        answer = await asked.result()
        assert (answer["offered"], answer["none"], answer["drain_requested"]) == ([], "draining", True)
        await wait_for(ingress, 1)
        with trio.fail_after(5):
            assert (await worker.offers(fresh_offers(), wait_s=30))["drain_requested"]


@pytest.mark.usefixtures("deaf")
async def test_a_class_that_is_newer_than_the_wait_is_found(
    worker: FakeWorker, ingress: RunningIngress, seed: Seed, database: ScratchDatabase
) -> None:
    async with listening(ingress, database) as nursery:
        pulling = Pulling(worker, nursery)
        await wait_for(ingress, 1)
        seed.task("elsewhere", placement={"require": {"region": "us"}})
        seed.run("elsewhere")
        tell(database)
        with trio.fail_after(PATIENCE_S):
            while await metric(ingress, "_vain_total") < 1:  # noqa: ASYNC110 - asked over HTTP
                await trio.sleep(0.01)
        seed.task("new", placement={"forbid": {"spot": "true"}})
        run = seed.run("new")
        tell(database)
        await pulling.result()
        assert pulling.attempts == [str(run.attempt)]


async def test_a_wait_ends_by_itself_without_a_database(
    seed: Seed, database: ScratchDatabase, proxied: FaultProxy
) -> None:
    url = proxied.dsn(database.dsn("tenure_ingress"))
    async with (
        open_ingress(database, database_url=url) as ingress,
        open_fake_worker(ingress.url, seed.credential("w1")) as worker,
        trio.open_nursery() as nursery,
    ):
        registered = await worker.register()
        pulling = Pulling(worker, nursery, wait_s=3)
        await wait_for(ingress, 1)
        proxied.refuse()
        proxied.cut()
        answer = await pulling.result()
        assert (answer["offered"], answer["none"]) == ([], "no_work")
        assert 0.05 <= answer["retry_after_s"] <= 0.15
        waited = datetime.fromisoformat(answer["server_time"]) - datetime.fromisoformat(
            registered["server_time"]
        )
        assert timedelta(seconds=2) <= waited < timedelta(seconds=12)
        proxied.forward()
        await ingress.wait_status("ready")


@pytest.fixture
async def proxied(database: ScratchDatabase) -> AsyncIterator[FaultProxy]:
    """A proxy before the test's database."""
    async with open_proxy(database.server.socket_path) as proxy:
        yield proxy


async def full(worker: FakeWorker, seed: Seed) -> Sequence[Any]:
    await claim(seed, worker)
    return fresh_offers()


async def draining(worker: FakeWorker, seed: Seed) -> Sequence[Any]:
    await worker.drain()
    return fresh_offers()


async def answered(worker: FakeWorker, seed: Seed) -> Sequence[Any]:
    work = await claim(seed, worker)
    return [{"offer": work.offer, "token": work.token}, *fresh_offers()]


async def settled(worker: FakeWorker, seed: Seed) -> Sequence[Any]:
    work = await claim(seed, worker)
    await worker.decline(work)
    return [{"offer": work.offer, "token": work.token}, *fresh_offers()]


@pytest.mark.parametrize("prepare", [full, draining, answered, settled])
async def test_what_waiting_cannot_change_is_answered_at_once(
    unregistered: FakeWorker, seed: Seed, prepare: Callable[..., Any]
) -> None:
    await unregistered.register(limit=1)
    offers = await prepare(unregistered, seed)
    with trio.fail_after(5):
        answer = await unregistered.offers(offers, wait_s=30)
    assert answer["none"] or answer["offered"] or answer["settled"]


async def test_a_process_that_ends_answers_all_that_wait(
    worker: FakeWorker, ingress: RunningIngress, seed: Seed
) -> None:
    async with trio.open_nursery() as nursery:
        pulls = [Pulling(worker, nursery) for _ in range(8)]
        await wait_for(ingress, 8)
        with trio.fail_after(5):
            assert await ingress.stop() == 0
        answers = [await pull.result() for pull in pulls]
    assert {answer["none"] for answer in answers} == {"no_work"}
    assert all(0.25 <= answer["retry_after_s"] <= 0.75 for answer in answers)
    (drained,) = [entry for entry in ingress.log if entry["event"] == "drained"]
    assert drained["left"] == {}


async def test_pulls_that_wait_are_not_in_flight(seed: Seed, database: ScratchDatabase) -> None:
    async with (
        open_ingress(database, limits=Limits(in_flight=2)) as ingress,
        open_fake_worker(ingress.url, seed.credential("w1")) as worker,
        trio.open_nursery() as nursery,
    ):
        await worker.register()
        for number in range(6):
            Pulling(worker, nursery)
            await wait_for(ingress, number + 1)
        assert (await worker.heartbeat())["status"] == "online"
        nursery.cancel_scope.cancel()


async def raw_pull(ingress: RunningIngress, worker: FakeWorker, offers: Any) -> trio.SocketStream:
    """Send a pull that waits on a connection of one's own."""
    host, _, port = ingress.url.removeprefix("http://").rpartition(":")
    content = json.dumps(
        {"request_id": str(uuid4()), "generation": worker.generation, "offers": offers, "wait_s": 30}
    )
    stream = await trio.open_tcp_stream(host, int(port))
    await stream.send_all(
        f"POST /v1/sessions/{worker.session}/offers HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        f"Authorization: Bearer {worker.token}\r\nContent-Length: {len(content)}\r\n\r\n{content}".encode()
    )
    return stream


@pytest.mark.usefixtures("deaf")
async def test_a_peer_that_went_away_while_it_waited_costs_nothing(
    worker: FakeWorker, ingress: RunningIngress, seed: Seed, database: ScratchDatabase
) -> None:
    async with listening(ingress, database):
        stream = await raw_pull(ingress, worker, fresh_offers())
        await wait_for(ingress, 1)
        await stream.aclose()
        await wait_for(ingress, 0)
        seed.run("report")
        tell(database)
        assert await metric(ingress, "_calls_total") == 0
        assert database.value("SELECT count(*) FROM tenure.run_leases") == 0


@pytest.mark.usefixtures("deaf")
async def test_a_peer_that_went_away_while_its_pull_claimed_finds_the_same_offer(
    worker: FakeWorker, ingress: RunningIngress, seed: Seed, database: ScratchDatabase
) -> None:
    offers = fresh_offers()
    async with listening(ingress, database), database.session() as somebody:
        stream = await raw_pull(ingress, worker, offers)
        await wait_for(ingress, 1)
        run = seed.run("report")
        await somebody.execute("BEGIN; SELECT FROM tenure.worker_sessions FOR UPDATE")
        tell(database)
        await database.wait_until_blocked()
        await stream.aclose()
        await somebody.execute("COMMIT")
        await wait_for(ingress, 0)
        assert seed.status(run) == ("dispatching", "claimed")
        (offered,) = (await worker.offers(offers))["offered"]
        assert (offered["spawn"], offered["lease"]["lease_generation"]) == (True, 1)
