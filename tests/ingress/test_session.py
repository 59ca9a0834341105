"""register, heartbeat, drain, offline: replays, replacement, and who is fenced."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from uuid import uuid4

import pytest

from tenure_contracts import bounds
from tests.harness import ScratchDatabase
from tests.harness.fake_worker import FakeWorker, Work, refused
from tests.harness.seed import Seed
from tests.ingress.conftest import claim, started

PACE = {"heartbeat_s": 15.0, "lease_s": 30.0}


def moment(text: str) -> datetime:
    return datetime.fromisoformat(text)


async def test_a_first_registration_is_online_for_its_session_lease(unregistered: FakeWorker) -> None:
    answer = await unregistered.register(session_lease_s=20)
    assert answer["worker"] == "w1"
    assert (answer["generation"], answer["version"], answer["status"]) == (1, 1, "online")
    assert answer["replaced"] is None
    assert moment(answer["expires_at"]) - moment(answer["server_time"]) == timedelta(seconds=20)
    assert {name: answer["advice"][name] for name in PACE} == PACE
    assert 8.5 <= answer["advice"]["renew_s"] <= 10


async def test_a_registration_sent_again_answers_the_same_facts(unregistered: FakeWorker) -> None:
    first = await unregistered.register(labels={"region": "eu"}, handlers=["b", "a"])
    second = await unregistered.register(labels={"region": "eu"}, handlers=["a", "b"])
    for answer in (first, second):
        answer.pop("server_time")
        answer["advice"].pop("renew_s")
    assert first == second


async def test_a_registration_with_other_content_is_a_conflict(worker: FakeWorker) -> None:
    with refused("content_conflict"):
        await worker.register(limit=9)


async def test_a_live_session_is_not_replaced_without_takeover(worker: FakeWorker) -> None:
    with refused("session_conflict") as answers:
        await worker.another().register()
    problem = answers[0].problem
    assert problem["session_age_s"] >= problem["seen_age_s"] >= 0
    assert "registered" in problem["detail"]
    assert "last seen" in problem["detail"]
    assert 40 < int(answers[0].headers["Retry-After"]) <= 45


async def test_a_takeover_replaces_a_live_session_but_not_twice_within_a_minute(
    worker: FakeWorker, database: ScratchDatabase
) -> None:
    second, third = worker.another(), worker.another()
    answer = await second.register(takeover=True)
    assert answer["generation"] == 2
    assert answer["replaced"] == {"session": worker.session, "generation": 1}
    with refused("session_conflict") as answers:
        await third.register(takeover=True)
    assert int(answers[0].headers["Retry-After"]) <= 45
    half_s = bounds.TAKEOVER_PAUSE_S / 2
    database.shift(timedelta(seconds=half_s))
    await second.heartbeat()
    with refused("session_conflict") as answers:
        await third.register(takeover=True)
    assert int(answers[0].headers["Retry-After"]) <= half_s  # the minute ends before the session does
    database.shift(timedelta(seconds=half_s + 1))
    await second.heartbeat()
    assert (await third.register(takeover=True))["generation"] == 3


async def test_the_answer_of_a_takeover_is_repeated_whole(worker: FakeWorker) -> None:
    second = worker.another()
    first_answer = await second.register(takeover=True)
    assert (await second.register(takeover=True))["replaced"] == first_answer["replaced"]


async def go_offline(worker: FakeWorker, database: ScratchDatabase) -> None:
    await worker.offline()


async def go_draining(worker: FakeWorker, database: ScratchDatabase) -> None:
    await worker.drain()


async def expire(worker: FakeWorker, database: ScratchDatabase) -> None:
    database.shift(timedelta(seconds=46))


@pytest.mark.parametrize("leave", [go_offline, go_draining, expire])
async def test_a_session_that_left_is_replaced_without_takeover(
    worker: FakeWorker,
    database: ScratchDatabase,
    leave: Callable[[FakeWorker, ScratchDatabase], Awaitable[None]],
) -> None:
    await leave(worker, database)
    answer = await worker.another().register()
    assert answer["replaced"]["session"] == worker.session


async def test_a_replaced_session_never_comes_back(worker: FakeWorker) -> None:
    await worker.another().register(takeover=True)
    with refused("session_fenced"):
        await worker.register()
    with refused("session_fenced"):
        await worker.register(takeover=True)


async def test_a_session_that_went_offline_never_comes_back(worker: FakeWorker) -> None:
    await worker.offline()
    with refused("session_fenced"):
        await worker.register()


async def test_a_session_of_another_worker_cannot_be_registered(
    worker: FakeWorker, other: FakeWorker
) -> None:
    other.session = worker.session
    with refused("session_fenced"):
        await other.register()


async def test_a_replacement_returns_what_was_not_started_and_expires_what_was(
    worker: FakeWorker, seed: Seed, database: ScratchDatabase
) -> None:
    running = await started(seed, worker)
    waiting = await claim(seed, worker)
    successor = worker.another()
    answer = await successor.register(takeover=True)
    by_attempt = {str(row["attempt"]): row for row in database.rows("SELECT * FROM tenure.run_leases")}
    assert by_attempt[waiting.attempt]["release_reason"] == "superseded"
    assert by_attempt[running.attempt]["state"] == "leased"
    assert by_attempt[running.attempt]["expires_at"] <= moment(answer["server_time"])
    assert [work.attempt for work in await successor.pull()] == [waiting.attempt]


async def test_a_heartbeat_extends_a_session_and_revives_an_expired_one(
    worker: FakeWorker, database: ScratchDatabase
) -> None:
    database.shift(timedelta(minutes=5))
    answer = await worker.heartbeat()
    assert (answer["generation"], answer["version"], answer["status"]) == (1, 1, "online")
    assert moment(answer["expires_at"]) - moment(answer["server_time"]) == timedelta(seconds=45)
    assert answer["drain_requested"] is False
    with refused("session_conflict"):
        await worker.another().register()


async def test_a_drain_that_an_operator_asked_for_is_told(
    worker: FakeWorker, database: ScratchDatabase
) -> None:
    database.execute("UPDATE tenure.worker_sessions SET drain_requested_at = tenure.clock()")
    assert (await worker.heartbeat())["drain_requested"]


async def test_a_session_that_an_operator_drains_is_offered_nothing_more(
    worker: FakeWorker, database: ScratchDatabase, seed: Seed
) -> None:
    seed.run("report")
    database.execute("UPDATE tenure.worker_sessions SET drain_requested_at = tenure.clock()")
    answer = await worker.offers([{"offer": str(uuid4()), "token": "t" * 43}])
    assert (answer["offered"], answer["none"], answer["drain_requested"]) == ([], "draining", True)


async def test_a_draining_session_gets_nothing_and_renews(worker: FakeWorker, seed: Seed) -> None:
    work = await started(seed, worker)
    seed.run("report")
    for _ in range(2):
        answer = await worker.drain()
        assert (answer["status"], answer["version"]) == ("draining", 2)
    answer = await worker.offers([{"offer": str(uuid4()), "token": "t" * 43}])
    assert (answer["offered"], answer["none"]) == ([], "draining")
    assert (await worker.heartbeat())["status"] == "draining"
    assert (await worker.renew(work))["leases"][0]["status"] == "renewed"


async def test_offline_returns_what_was_not_started_and_leaves_the_rest(
    worker: FakeWorker, seed: Seed, database: ScratchDatabase
) -> None:
    running = await started(seed, worker)
    waiting = await claim(seed, worker)
    for _ in range(2):
        answer = await worker.offline()
        assert (answer["status"], answer["version"]) == ("offline", 2)
    reasons = {
        str(row["attempt"]): (row["state"], row["release_reason"])
        for row in database.rows("SELECT attempt, state, release_reason FROM tenure.run_leases")
    }
    assert reasons == {running.attempt: ("leased", None), waiting.attempt: ("released", "shutdown")}


Call = Callable[[FakeWorker, Work], Awaitable[object]]

OFFLINE: Call = lambda worker, _: worker.offline()  # noqa: E731 - one line of the table below

LIVE_CALLS: dict[str, Call] = {
    "heartbeat": lambda worker, _: worker.heartbeat(),
    "drain": lambda worker, _: worker.drain(),
    "offers": lambda worker, _: worker.pull(),
    "decline": lambda worker, work: worker.decline(work),
    "starting": lambda worker, work: worker.starting(work),
    "running": lambda worker, work: worker.running(work),
    "start-failure": lambda worker, work: worker.start_failure(work),
    "renew": lambda worker, work: worker.renew(work),
}


async def test_a_replaced_session_is_fenced_in_every_call(worker: FakeWorker, seed: Seed) -> None:
    work = await claim(seed, worker)
    await worker.another().register(takeover=True)
    for call in (*LIVE_CALLS.values(), OFFLINE):
        with refused("session_fenced"):
            await call(worker, work)


async def test_an_offline_session_is_fenced_in_every_call_but_offline(worker: FakeWorker, seed: Seed) -> None:
    work = await claim(seed, worker)
    await worker.offline()
    for call in LIVE_CALLS.values():
        with refused("session_fenced"):
            await call(worker, work)


async def test_a_wrong_generation_and_an_unknown_session_are_fenced(worker: FakeWorker, seed: Seed) -> None:
    work = await claim(seed, worker)
    for session, generation in ((worker.session, 2), (str(uuid4()), 1)):
        worker.session, worker.generation = session, generation
        for call in LIVE_CALLS.values():
            with refused("session_fenced"):
                await call(worker, work)


async def test_a_delayed_registration_of_a_replaced_session_has_no_effect(
    worker: FakeWorker, database: ScratchDatabase
) -> None:
    successor = worker.another()
    await successor.register(takeover=True)
    before = database.rows("SELECT * FROM tenure.worker_sessions ORDER BY generation")
    with refused("session_fenced"):
        await worker.register()
    assert database.rows("SELECT * FROM tenure.worker_sessions ORDER BY generation") == before


async def test_registrations_are_audited_without_secrets(
    worker: FakeWorker, database: ScratchDatabase
) -> None:
    use, row = database.rows("SELECT * FROM tenure.security_audit_events ORDER BY event")
    assert (use["actor"], use["action"]) == ("worker:w1", "credential.first_use")
    assert (row["actor"], row["action"], row["object"]) == ("worker:w1", "session.register", worker.session)
    assert worker.token.split("_", 2)[2] not in row["detail"]
