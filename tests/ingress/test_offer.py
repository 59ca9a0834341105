"""offers and decline: what a pull brings, what a repeated one brings, and what is given back."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from tests.harness import ScratchDatabase
from tests.harness.fake_worker import FakeWorker, fresh_offers, refused, work_of
from tests.harness.seed import Seed
from tests.ingress.conftest import claim, started


def moment(text: str) -> datetime:
    return datetime.fromisoformat(text)


def facts(answer: Mapping[str, Any]) -> dict[str, Any]:
    """What a repeated pull must answer again."""
    return {name: answer[name] for name in ("offered", "settled")}


async def test_an_offer_is_complete(worker: FakeWorker, seed: Seed) -> None:
    seed.task(
        "count",
        command=["wc", "-l", "{{ input.file }}"],
        env={"LANG": "C"},
        cwd="/data",
        stdin="text",
        timeout="30s",
        kill_grace="2s",
        priority=7,
        log_limit="1KiB",
    )
    run = seed.run("count", {"file": "a.txt", "deep": [1.50, None]})
    offers = fresh_offers(1)
    answer = await worker.offers(offers)
    (offered,) = answer["offered"]
    assert (offered["offer"], offered["recovered"], offered["spawn"]) == (offers[0]["offer"], False, True)
    digest = offered["attempt"].pop("digest")
    assert len(digest) == 43
    assert offered["attempt"] == {
        "attempt": str(run.attempt),
        "run": str(run.run),
        "project": "shop",
        "task": "count",
        "revision": 1,
        "number": 1,
        "try": 1,
        "step": None,
        "priority": 7,
        "status": "claimed",
        "deadline_at": None,
    }
    lease = offered["lease"]
    assert (lease["lease_generation"], lease["lease_version"]) == (1, 1)
    assert moment(lease["expires_at"]) - moment(lease["acquired_at"]) == timedelta(seconds=30)
    assert offered["plan"] == {
        "executor": "command",
        "argv": ["wc", "-l", "a.txt"],
        "env": {"LANG": "C"},
        "cwd": "/data",
        "stdin": "text",
        "handler": None,
        "arguments": None,
        "timeout_s": 30.0,
        "kill_grace_s": 2.0,
        "stop_on_lost_contact_s": None,
        "secrets": [],
        "log_limit_bytes": 1024,
    }
    assert offered["input"] == {"file": "a.txt", "deep": [1.5, None]}
    assert (answer["settled"], answer["none"], answer["drain_requested"]) == ([], None, False)
    assert seed.status(run) == ("dispatching", "claimed")
    assert seed.events(run) == ["run.queued", "attempt.claimed", "run.dispatching"]
    assert "token" not in str(answer)


async def test_nothing_to_do_is_said_with_a_time_to_come_back(worker: FakeWorker) -> None:
    answers = [await worker.offers(fresh_offers(2)) for _ in range(4)]
    assert [(answer["offered"], answer["none"]) for answer in answers] == [([], "no_work")] * 4
    waits = [answer["retry_after_s"] for answer in answers]
    assert all(0.5 <= wait <= 1.5 for wait in waits)
    assert len(set(waits)) > 1  # a fleet shall not come back in step


async def test_work_for_others_is_no_match_and_hides_nothing(worker: FakeWorker, seed: Seed) -> None:
    seed.task("elsewhere", placement={"require": {"region": "us"}}, priority=9)
    seed.task("resize", handler="resize", priority=9)
    seed.runs("elsewhere", 16)
    seed.run("resize")
    assert (await worker.offers(fresh_offers(1)))["none"] == "no_match"
    run = seed.run("report")
    assert [work.attempt for work in await worker.pull()] == [str(run.attempt)]


async def test_labels_and_handlers_decide_who_gets_what(unregistered: FakeWorker, seed: Seed) -> None:
    await unregistered.register(labels={"region": "us", "os": "linux"}, handlers=["resize"])
    seed.task("there", placement={"require": {"region": "us"}, "any": [{"os": "linux"}, {"os": "darwin"}]})
    seed.task("never", placement={"forbid": {"os": "linux"}})
    seed.task("resize", handler="resize")
    wanted = {str(seed.run(task).attempt) for task in ("there", "resize")}
    seed.run("never")
    assert {work.attempt for work in await unregistered.pull(5)} == wanted


async def test_a_class_that_appeared_after_registration_is_seen(worker: FakeWorker, seed: Seed) -> None:
    assert await worker.pull() == []
    seed.task("new", placement={"forbid": {"spot": "true"}})
    seed.run("new")
    assert len(await worker.pull()) == 1


async def test_priority_comes_before_age(worker: FakeWorker, seed: Seed) -> None:
    runs = [seed.run("report", priority=priority) for priority in (3, 9, 5)]
    claimed = [work.attempt for work in await worker.pull(3)]
    assert claimed == [str(runs[index].attempt) for index in (1, 2, 0)]


async def test_a_session_never_holds_more_than_its_limit(unregistered: FakeWorker, seed: Seed) -> None:
    await unregistered.register(limit=2)
    seed.runs("report", 4)
    offers = fresh_offers(3)
    answer = await unregistered.offers(offers)
    assert (len(answer["offered"]), answer["none"]) == (2, "at_limit")
    held, _ = work_of(answer, offers)
    assert (await unregistered.offers(fresh_offers(1)))["none"] == "at_limit"
    await unregistered.starting(held)
    await unregistered.complete(held)
    unanswered = [offer for offer in offers if offer["offer"] not in str(answer["offered"])]
    assert len((await unregistered.offers(unanswered))["offered"]) == 1


async def test_an_expired_lease_still_counts_against_the_limit(
    unregistered: FakeWorker, seed: Seed, database: ScratchDatabase
) -> None:
    await unregistered.register(limit=1)
    await started(seed, unregistered)
    database.shift(timedelta(minutes=2))
    seed.run("report")
    assert (await unregistered.offers(fresh_offers(1)))["none"] == "at_limit"


async def test_a_pull_sent_again_is_answered_again(worker: FakeWorker, seed: Seed) -> None:
    run = seed.run("report")
    offers = fresh_offers(2)
    first = await worker.offers(offers)
    seed.run("report")
    again = await worker.offers(offers[:1])
    assert facts(again) == facts(first)
    assert again["none"] is None
    assert seed.events(run).count("run.dispatching") == 1


async def test_an_offer_that_was_not_answered_stays_usable(worker: FakeWorker, seed: Seed) -> None:
    offers = fresh_offers(1)
    await worker.offers(offers)
    seed.run("report")
    assert len((await worker.offers(offers))["offered"]) == 1


async def test_started_work_is_recovered_without_permission_to_spawn(worker: FakeWorker, seed: Seed) -> None:
    seed.task("timed", timeout="1h")
    seed.run("timed")
    offers = fresh_offers(1)
    (work,) = work_of(await worker.offers(offers), offers)
    for act, status in ((worker.starting, "starting"), (worker.running, "running")):
        answer = await act(work)
        (offered,) = (await worker.offers(offers))["offered"]
        assert (offered["recovered"], offered["spawn"]) == (True, False)
        assert offered["attempt"]["status"] == status
        assert offered["attempt"]["deadline_at"] == answer["deadline_at"] is not None


async def test_a_spent_offer_never_claims_anew(worker: FakeWorker, other: FakeWorker, seed: Seed) -> None:
    offers = fresh_offers(1)
    seed.run("report")
    (work,) = work_of(await worker.offers(offers), offers)
    await worker.decline(work, reason="shutdown")
    answer = await worker.offers(offers)
    assert (answer["offered"], answer["settled"]) == ([], [work.offer])
    assert len(await other.pull()) == 1
    assert (await worker.offers(offers))["settled"] == [work.offer]


async def test_an_ended_attempt_settles_its_offer(worker: FakeWorker, seed: Seed) -> None:
    offers = fresh_offers(1)
    seed.run("report")
    (work,) = work_of(await worker.offers(offers), offers)
    await worker.start(work)
    await worker.complete(work)
    seed.run("report")
    answer = await worker.offers(offers)
    assert (answer["offered"], answer["settled"]) == ([], [work.offer])


async def test_an_offer_with_another_token_tells_nothing(
    worker: FakeWorker, other: FakeWorker, seed: Seed
) -> None:
    work = await claim(seed, worker)
    for thief in (worker, other):
        answer = await thief.offers([{"offer": work.offer, "token": "x" * 43}])
        assert (answer["offered"], answer["settled"]) == ([], [work.offer])


async def test_an_expired_unstarted_lease_that_nobody_took_is_offered_again(
    worker: FakeWorker, seed: Seed, database: ScratchDatabase
) -> None:
    offers = fresh_offers(1)
    seed.run("report")
    await worker.offers(offers)
    database.shift(timedelta(minutes=1))
    (offered,) = (await worker.offers(offers))["offered"]
    assert offered["spawn"]


async def test_a_damaged_plan_is_never_offered(
    worker: FakeWorker, seed: Seed, database: ScratchDatabase
) -> None:
    damaged, whole = seed.runs("report", 2)
    database.execute("UPDATE tenure.runs SET plan = replace(plan, 'true', 'rm') WHERE run = $1", damaged.run)
    assert [work.attempt for work in await worker.pull(2)] == [str(whole.attempt)]
    assert seed.status(damaged) == ("failed", "failed")
    assert seed.events(damaged)[-2:] == ["attempt.failed", "run.failed"]
    assert (
        database.value("SELECT error_code FROM tenure.runs WHERE run = $1", damaged.run) == "digest_mismatch"
    )


async def test_a_cancelled_run_is_not_offered(worker: FakeWorker, seed: Seed) -> None:
    seed.request_cancel(seed.run("report"))
    assert await worker.pull() == []


async def test_declined_work_is_another_workers_at_once(
    worker: FakeWorker, other: FakeWorker, seed: Seed
) -> None:
    for reason in ("declined", "shutdown"):
        run = seed.run("report")
        (work,) = await worker.pull()
        for _ in range(2):
            answer = await worker.decline(work, reason=reason)
            assert answer == {"leases": [{"attempt": work.attempt, "status": "released"}]}
        assert seed.status(run) == ("queued", "claimed")
        (taken,) = await other.pull()
        assert (taken.attempt, taken.lease_generation) == (work.attempt, 2)
        assert taken.facts["attempt"]["try"] == 1
        assert (await worker.decline(work, reason=reason))["leases"][0]["status"] == "released"


async def test_a_session_is_spared_for_half_a_minute_what_it_declined(
    worker: FakeWorker, seed: Seed, database: ScratchDatabase
) -> None:
    work = await claim(seed, worker)
    await worker.decline(work)
    assert await worker.pull() == []
    database.shift(timedelta(seconds=31))
    assert [again.attempt for again in await worker.pull()] == [work.attempt]


async def test_each_lease_of_a_decline_is_answered_on_its_own(
    worker: FakeWorker, other: FakeWorker, seed: Seed
) -> None:
    mine, running, theirs = await claim(seed, worker), await started(seed, worker), await claim(seed, other)
    wrong = (await claim(seed, worker)).with_(token="x" * 43)
    answer = await worker.decline(mine, running, theirs, wrong)
    assert [lease["status"] for lease in answer["leases"]] == ["released", "fenced", "fenced", "fenced"]


async def test_work_that_is_never_started_fails_after_sixteen_claims(
    worker: FakeWorker, seed: Seed, database: ScratchDatabase
) -> None:
    run = seed.run("report")
    for _ in range(16):
        (work,) = await worker.pull()
        await worker.decline(work)
        database.execute("DELETE FROM tenure.attempt_declines")
    assert seed.status(run) == ("failed", "failed")
    assert database.value("SELECT error_code FROM tenure.runs") == "never_started"
    assert seed.events(run)[-2:] == ["attempt.failed", "run.failed"]


async def test_the_decline_that_fails_a_run_is_answered_again_to_a_later_session(
    worker: FakeWorker, seed: Seed, database: ScratchDatabase
) -> None:
    run = seed.run("report")
    (work,) = await worker.pull()
    database.execute("UPDATE tenure.runs SET unstarted_claims = 15")
    await worker.decline(work)
    assert seed.status(run) == ("failed", "failed")
    later = worker.another()
    await later.register(takeover=True)
    assert await later.decline(work) == {"leases": [{"attempt": work.attempt, "status": "released"}]}


async def test_shutting_down_is_no_reason_to_fail(worker: FakeWorker, seed: Seed) -> None:
    run = seed.run("report")
    for _ in range(17):
        (work,) = await worker.pull()
        await worker.decline(work, reason="shutdown")
    assert seed.status(run) == ("queued", "claimed")


async def test_a_pull_names_each_offer_once(worker: FakeWorker) -> None:
    (offer,) = fresh_offers(1)
    with refused("invalid_field"):
        await worker.offers([offer, offer])
