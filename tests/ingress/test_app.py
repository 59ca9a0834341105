"""The process: what it waits for, what it refuses to start on, what it survives, and the order of its end."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from functools import partial
from typing import Any
from uuid import uuid4

import httpx
import pytest
import trio

from tenure_contracts.identity import lease_token_digest, parse_worker_token
from tenure_postgres.listen import listen
from tenure_process.address import Address
from tests.harness import FaultProxy, ScratchDatabase, open_proxy
from tests.harness.fake_worker import FakeWorker, Refused, fresh_offers, open_fake_worker, refused
from tests.harness.fixture import MakeDatabase
from tests.harness.ingress import RunningIngress, exit_code, ingress_settings, open_ingress
from tests.harness.seed import Seed
from tests.harness.template import with_roles
from tests.ingress.conftest import claim, started


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


@pytest.fixture
async def proxied(database: ScratchDatabase, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[FaultProxy]:
    """A proxy before the test's database; the ingress looks at it ten times a second."""
    monkeypatch.setattr("tenure_ingress.database.LOOK_S", 0.1)
    async with open_proxy(database.server.socket_path) as proxy:
        yield proxy


async def test_a_lost_database_is_an_answer_and_no_end(
    database: ScratchDatabase, seed: Seed, proxied: FaultProxy
) -> None:
    run = seed.run("report")
    async with (
        open_ingress(database, database_url=proxied.dsn(database.dsn("tenure_ingress"))) as ingress,
        open_fake_worker(ingress.url, seed.credential("w1")) as worker,
    ):
        await worker.register()
        proxied.refuse()
        proxied.cut()
        for _ in range(3):
            with refused("database_unavailable") as answers:
                await worker.offers(fresh_offers())
            assert 2 <= int(answers[0].headers["Retry-After"]) <= 4
        await ingress.wait_status("unavailable")
        assert (await ingress.probe("/livez")).status_code == 200
        assert (await ingress.probe("/readyz")).status_code == 503
        with refused("database_unavailable"):
            await worker.heartbeat()
        proxied.forward()
        await ingress.wait_status("ready")
        assert [work.attempt for work in await worker.pull()] == [str(run.attempt)]


async def test_killed_connections_cost_at_most_one_answer_each(
    worker: FakeWorker, ingress: RunningIngress, seed: Seed, database: ScratchDatabase
) -> None:
    work = await started(seed, worker)
    database.kill_backends("tenure_ingress")
    assert (await worker.renew(work))["leases"][0]["status"] == "renewed"  # the lane tries once more
    database.kill_backends("tenure_ingress")
    try:
        answer = await worker.complete(work)
    except Refused as refusal:
        assert refusal.code == "database_unavailable"  # noqa: PT017 - either is right
        answer = await worker.complete(work)
    assert answer["run_status"] == "succeeded"
    assert ingress.exit_code is None


def grant_a_table(database: ScratchDatabase) -> None:
    database.execute(
        "GRANT SELECT ON tenure.runs TO tenure_ingress; GRANT USAGE ON SCHEMA tenure TO tenure_ingress"
    )


def revoke_a_function(database: ScratchDatabase) -> None:
    database.execute(
        "REVOKE EXECUTE ON FUNCTION ingress_api.heartbeat_v1(text[], bytea[], uuid[], integer[])"
        " FROM tenure_ingress"
    )


def allow_temporary_tables(database: ScratchDatabase) -> None:
    database.execute(f'GRANT TEMPORARY ON DATABASE "{database.name}" TO tenure_ingress')


def lose_a_setting(database: ScratchDatabase) -> None:
    database.execute(f'ALTER ROLE tenure_ingress IN DATABASE "{database.name}" RESET lock_timeout')


def become_read_only(database: ScratchDatabase) -> None:
    database.execute(f'ALTER DATABASE "{database.name}" SET default_transaction_read_only = on')


WRONG_DATABASES = {
    grant_a_table: "tenure_ingress has SELECT on table tenure.runs",
    revoke_a_function: "tenure_ingress lacks EXECUTE on function ingress_api.heartbeat_v1",
    allow_temporary_tables: "tenure_ingress has TEMPORARY on database",
    lose_a_setting: "lock_timeout is",
    become_read_only: "the server is read-only",
}


@pytest.mark.parametrize(
    ("spoil", "sentence"), WRONG_DATABASES.items(), ids=[spoil.__name__ for spoil in WRONG_DATABASES]
)
async def test_it_does_not_start_on_a_database_that_is_wrong(
    database: ScratchDatabase, spoil: Any, sentence: str
) -> None:
    spoil(database)
    code, log = await exit_code(ingress_settings(database))
    assert code == 78
    assert sentence in named(log, "database_unusable")["reason"]
    assert "ready" not in [entry["event"] for entry in log]


async def test_it_does_not_start_without_schema_or_as_somebody_else(
    database: ScratchDatabase, make_database: MakeDatabase
) -> None:
    wrong = [
        ingress_settings(make_database(with_roles)),
        ingress_settings(database, database_url=database.dsn("tenure_control")),
        ingress_settings(database, database_url=database.server.dsn("tenure_ingress", "nowhere")),
    ]
    sentences = []
    for settings in wrong:
        code, log = await exit_code(settings)
        assert code == 78
        sentences.append(named(log, "database_unusable")["reason"])
    assert "run `tenure control migrate`" in sentences[0]
    assert "connected as tenure_control: give the address of the role tenure_ingress" in sentences[1]
    assert "nowhere" in sentences[2]


async def test_an_unreachable_database_is_tried_and_then_given_up(
    database: ScratchDatabase, proxied: FaultProxy
) -> None:
    proxied.refuse()
    settings = ingress_settings(
        database, database_url=proxied.dsn(database.dsn("tenure_ingress")), start_budget_s=0.5
    )
    code, log = await exit_code(settings)
    assert code == 75
    assert [entry["event"] for entry in log].count("database_not_usable") >= 1


async def test_until_it_is_ready_it_says_that_it_is_starting(
    database: ScratchDatabase, seed: Seed, proxied: FaultProxy
) -> None:
    proxied.refuse()
    async with (
        open_ingress(
            database, wait=False, database_url=proxied.dsn(database.dsn("tenure_ingress"))
        ) as ingress,
        open_fake_worker(ingress.url, seed.credential("w1")) as worker,
    ):
        with refused("starting"):
            await worker.register()
        assert (await ingress.probe("/livez")).status_code == 200
        assert (await ingress.probe("/readyz")).json()["status"] == "starting"
        proxied.forward()
        await ingress.wait_status("ready")
        await worker.register()


async def test_a_signal_before_it_is_ready_ends_it(database: ScratchDatabase, proxied: FaultProxy) -> None:
    proxied.refuse()
    dsn = proxied.dsn(database.dsn("tenure_ingress"))
    async with open_ingress(database, wait=False, database_url=dsn) as ingress:
        assert await ingress.stop() == 0


async def test_an_address_in_use_is_a_wrong_setting(
    database: ScratchDatabase, ingress: RunningIngress
) -> None:
    host, _, port = ingress.url.removeprefix("http://").rpartition(":")
    code, log = await exit_code(ingress_settings(database, listen=Address(host, int(port))))
    assert code == 78
    assert f"{host}:{port}: Address already in use" in named(log, "cannot_listen")["reason"]


async def test_two_replicas_answer_as_one(database: ScratchDatabase, seed: Seed) -> None:
    run = seed.run("report")
    token = seed.credential("w1")
    async with (
        open_ingress(database) as one,
        open_ingress(database) as two,
        open_fake_worker(one.url, token) as here,
        open_fake_worker(two.url, token) as there,
    ):
        there.session = here.session
        await here.register()
        await there.register()
        (work,) = await here.pull()
        await there.starting(work)
        assert (await here.starting(work))["status"] == "replayed"
        await here.running(work)
        await there.renew(work)
        assert (await here.complete(work))["status"] == "applied"
        assert (await there.complete(work))["status"] == "replayed"
    assert seed.status(run) == ("succeeded", "succeeded")


async def test_work_that_became_dispatchable_is_told(
    worker: FakeWorker, seed: Seed, database: ScratchDatabase
) -> None:
    connected, heard = trio.Event(), trio.Event()

    def told(*_: str) -> None:
        # The first is the listener's own, when it is connected.
        (heard if connected.is_set() else connected).set()

    async with trio.open_nursery() as nursery:
        listening = partial(listen, database.dsn(), ["tenure_dispatch"], told, name="test")
        nursery.start_soon(listening)
        work = await claim(seed, worker)
        with trio.fail_after(5):
            await connected.wait()
            await worker.decline(work)
            await heard.wait()
        nursery.cancel_scope.cancel()


async def test_nothing_that_is_logged_holds_a_secret(
    database: ScratchDatabase, seed: Seed, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    token = seed.credential("w1")
    async with open_ingress(database, debug=True) as ingress, open_fake_worker(ingress.url, token) as worker:
        await worker.register()
        work = await started(seed, worker)
        with refused("lease_fenced"):
            await worker.complete(work.with_(token="w" * 43))
        await worker.send("heartbeat", content=b"{" + token.encode())
        database.execute("DROP FUNCTION ingress_api.heartbeat_v1")
        await worker.send("heartbeat", {"request_id": str(uuid4()), "generation": 1})
        await worker.complete(work, output="the output")
    said = f"{ingress.log} {caplog.text}"
    assert "'event': 'request'" in said
    digests = [parse_worker_token(token).secret_digest, lease_token_digest(work.token)]
    for secret in (token, token.rpartition("_")[2], work.token, "w" * 43, "the output"):
        assert secret not in said
    for digest in digests:
        assert digest.hex() not in said
        assert repr(digest) not in said


async def test_the_process_logs_json_and_ends_in_order(database: ScratchDatabase) -> None:
    env = {
        "TENURE_INGRESS_DATABASE_URL": database.dsn("tenure_ingress"),
        "TENURE_INGRESS_LISTEN": "127.0.0.1:0",
        "TENURE_INGRESS_PROBE_LISTEN": "127.0.0.1:0",
    }
    command = [sys.executable, "-m", "tenure_ingress"]
    process = await trio.lowlevel.open_process(command, env=os.environ | env, stderr=subprocess.PIPE)
    assert process.stderr is not None
    text = b""
    with trio.fail_after(20):
        async for chunk in process.stderr:
            was_ready, text = b'"ready"' in text, text + chunk
            if b'"ready"' in text and not was_ready:
                process.terminate()
        assert await process.wait() == 0
    events = [json.loads(line) for line in text.splitlines()]
    assert [entry["event"] for entry in events] == [
        "listening",
        "ready",
        "draining",
        "drained",
        "lanes_flushed",
        "pool_closed",
        "listener_closed",
    ]
    assert {entry["level"] for entry in events} == {"info"}


async def test_wrong_settings_end_the_process_before_it_begins() -> None:
    env = {name: value for name, value in os.environ.items() if not name.startswith("TENURE_")}
    done = await trio.run_process(
        [sys.executable, "-m", "tenure_ingress"], env=env, capture_stderr=True, check=False
    )
    assert done.returncode == 78
    (line,) = done.stderr.splitlines()
    assert "TENURE_INGRESS_DATABASE_URL is missing" in json.loads(line)["reason"]
