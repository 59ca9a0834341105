"""renew: each lease is answered on its own, late ones are renewed, and stops travel here."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

import trio

from tests.harness import ScratchDatabase
from tests.harness.fake_worker import FakeWorker, Work, refused
from tests.harness.ingress import RunningIngress
from tests.harness.seed import Seed
from tests.ingress.conftest import claim, started


async def renew_one(worker: FakeWorker, work: Work) -> dict[str, Any]:
    answer: dict[str, Any] = (await worker.renew(work))["leases"][0]
    return answer


async def test_a_lease_is_extended_from_database_time(worker: FakeWorker, seed: Seed) -> None:
    run = seed.run("report")
    (work,) = await worker.pull()
    answer = await worker.renew(work)
    (lease,) = answer["leases"]
    assert {name: lease[name] for name in ("attempt", "status", "lease_version", "late")} == {
        "attempt": work.attempt,
        "status": "renewed",
        "lease_version": 2,
        "late": False,
    }
    assert (lease["stop"], lease["terminal"], lease["disposition"]) == (None, None, None)
    now = datetime.fromisoformat(answer["server_time"])
    assert datetime.fromisoformat(lease["expires_at"]) - now == timedelta(seconds=30)
    assert seed.expiry(run) == datetime.fromisoformat(lease["expires_at"])
    assert 8.5 <= answer["renew_s"] <= 10
    assert answer["drain_requested"] is False
    assert seed.events(run)[-1] == "run.dispatching"  # a renewal is no event


async def test_any_version_that_was_given_out_renews(worker: FakeWorker, seed: Seed) -> None:
    work = await claim(seed, worker)
    first = work.with_()
    await worker.renew(work)
    await worker.renew(work)
    assert (await renew_one(worker, first))["lease_version"] == 4
    ahead = await renew_one(worker, work.with_(lease_version=5))
    assert (ahead["status"], ahead["disposition"]) == ("fenced", "stop")


async def test_a_late_renewal_revives_an_expired_lease(
    worker: FakeWorker, seed: Seed, database: ScratchDatabase
) -> None:
    work = await started(seed, worker)
    database.shift(timedelta(hours=1))
    lease = await renew_one(worker, work)
    assert (lease["status"], lease["late"]) == ("renewed", True)
    assert (await renew_one(worker, work))["late"] is False


async def test_every_lease_has_its_own_answer(
    worker: FakeWorker, other: FakeWorker, seed: Seed, database: ScratchDatabase
) -> None:
    fine, ended, theirs = await started(seed, worker), await started(seed, worker), await claim(seed, other)
    declined, last = await claim(seed, worker), await claim(seed, worker)
    await worker.complete(ended)
    await worker.decline(declined, reason="shutdown")
    unknown, wrong = fine.with_(attempt=str(uuid4())), last.with_(token="x" * 43)
    answer = await worker.renew(fine, ended, declined, theirs, unknown, wrong)
    verdicts = [(lease["status"], lease["disposition"]) for lease in answer["leases"]]
    assert verdicts == [
        ("renewed", None),
        ("terminal", "settled"),
        ("fenced", "stop"),
        ("fenced", "stop"),
        ("fenced", "stop"),
        ("fenced", "stop"),
    ]
    # Nothing is told about somebody else's lease.
    assert [lease["expires_at"] for lease in answer["leases"][3:]] == [None] * 3
    assert [lease["lease_version"] for lease in answer["leases"][3:]] == [None] * 3


async def test_a_cancel_is_delivered_and_the_lease_renewed(worker: FakeWorker, seed: Seed) -> None:
    run = seed.run("report")
    (work,) = await worker.pull()
    await worker.start(work)
    seed.request_cancel(run)
    lease = await renew_one(worker, work)
    assert (lease["status"], lease["disposition"], lease["stop"]["reason"]) == ("stop", None, "user")
    assert lease["lease_version"] == 2
    assert (await renew_one(worker, work))["stop"] == lease["stop"]


async def test_a_passed_deadline_becomes_a_stop_by_the_renewal_itself(
    worker: FakeWorker, seed: Seed, database: ScratchDatabase
) -> None:
    seed.task("timed", timeout="10s")
    run = seed.run("timed")
    (work,) = await worker.pull()
    await worker.start(work)
    assert (await renew_one(worker, work))["status"] == "renewed"
    database.shift(timedelta(seconds=11))
    lease = await renew_one(worker, work)
    assert (lease["status"], lease["stop"]["reason"]) == ("stop", "timeout")
    assert seed.lease(run)["stop_reason"] == "timeout"
    assert (await renew_one(worker, work))["stop"] == lease["stop"]


async def test_a_settled_attempt_tells_a_holder_to_stop(
    worker: FakeWorker, seed: Seed, database: ScratchDatabase
) -> None:
    run = seed.run("report")
    (work,) = await worker.pull()
    await worker.start(work)
    seed.settle_lost(run)
    lease = await renew_one(worker, work)
    assert (lease["status"], lease["terminal"], lease["disposition"]) == ("terminal", None, "stop")


async def test_a_cancelled_attempt_is_called_so(
    worker: FakeWorker, seed: Seed, database: ScratchDatabase
) -> None:
    work = await started(seed, worker)
    database.execute(
        "WITH a AS (UPDATE tenure.run_attempts SET status = 'cancelled', ended_at = tenure.clock())"
        " UPDATE tenure.run_leases SET state = 'released', release_reason = 'settled', version = version + 1"
    )
    lease = await renew_one(worker, work)
    assert (lease["status"], lease["terminal"], lease["disposition"]) == ("terminal", "cancelled", "stop")


async def test_a_locked_lease_is_retried_alone(
    worker: FakeWorker, seed: Seed, database: ScratchDatabase
) -> None:
    free, locked = await claim(seed, worker), await claim(seed, worker)
    async with database.session() as somebody:
        await somebody.execute("BEGIN")
        await somebody.rows("SELECT FROM tenure.run_leases WHERE attempt = $1 FOR UPDATE", locked.attempt)
        async with trio.open_nursery() as nursery:
            answers: list[Any] = []

            async def both() -> None:
                answers.append(await worker.renew(free, locked))

            nursery.start_soon(both)
            await database.wait_until("version > 1 FROM tenure.run_leases WHERE attempt = $1", free.attempt)
            # Nobody waits for the locked one but who asked for it.
            third = await claim(seed, worker)
            assert (await renew_one(worker, third))["status"] == "renewed"
    (answer,) = answers
    verdicts = [(lease["status"], lease["disposition"]) for lease in answer["leases"]]
    assert verdicts == [("renewed", None), ("retry", "retry")]
    assert (await renew_one(worker, locked))["status"] == "renewed"


async def test_a_lease_that_stays_locked_is_answered_although_it_is_the_only_one(
    worker: FakeWorker, seed: Seed, database: ScratchDatabase
) -> None:
    work = await claim(seed, worker)
    async with database.session() as somebody:
        await somebody.execute("BEGIN; SELECT FROM tenure.run_leases FOR UPDATE")
        lease = await renew_one(worker, work)
        assert (lease["status"], lease["disposition"], lease["expires_at"]) == ("retry", "retry", None)


async def test_many_renewals_travel_together(
    unregistered: FakeWorker, ingress: RunningIngress, seed: Seed, database: ScratchDatabase
) -> None:
    await unregistered.register(limit=32)
    seed.runs("report", 16)
    held = await unregistered.pull(16)
    # The lane's first call is held up by a lock, so that the others have to collect meanwhile.
    async with database.session() as somebody, trio.open_nursery() as nursery:
        await somebody.execute("BEGIN; LOCK TABLE tenure.run_leases IN ACCESS EXCLUSIVE MODE")
        nursery.start_soon(unregistered.renew, held[0])
        await database.wait_until_blocked()
        for work in held[1:]:
            nursery.start_soon(unregistered.renew, work)
        await _wait_for_waiting(ingress, 15)
        await somebody.execute("COMMIT")
    text = (await ingress.probe("/metrics")).text
    assert 'tenure_ingress_lane_calls_total{lane="renew"} 2.0' in text
    assert 'tenure_ingress_lane_items_total{lane="renew"} 16.0' in text
    assert {work.lease_version for work in held} == {2}


async def _wait_for_waiting(ingress: RunningIngress, count: int) -> None:
    wanted = f'tenure_ingress_lane_waiting{{lane="renew"}} {count:.1f}'
    with trio.fail_after(5):
        while wanted not in (await ingress.probe("/metrics")).text:  # noqa: ASYNC110 - asked over HTTP
            await trio.sleep(0.01)


async def test_the_bad_session_of_one_request_harms_no_other(
    worker: FakeWorker, other: FakeWorker, seed: Seed
) -> None:
    mine, theirs = await claim(seed, worker), await claim(seed, other)
    other.generation = 7
    with refused("session_fenced"):
        await other.renew(theirs)
    assert (await renew_one(worker, mine))["status"] == "renewed"


async def test_a_renewal_names_each_attempt_once(worker: FakeWorker, seed: Seed) -> None:
    work = await claim(seed, worker)
    with refused("invalid_field"):
        await worker.renew(work, work)
