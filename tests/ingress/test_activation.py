"""starting, running, start-failure: the barrier, replays, and each refusal that the protocol lists."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from itertools import product
from typing import Any
from uuid import uuid4

import trio

from tenure_control.stage import retry
from tests.harness import ScratchDatabase
from tests.harness.control import stage_parts
from tests.harness.fake_worker import FakeWorker, Work, refused
from tests.harness.seed import Seed
from tests.ingress.conftest import claim, started

Act = Callable[[FakeWorker, Work], Awaitable[Any]]

ACTS: dict[str, Act] = {
    "starting": lambda worker, work: worker.starting(work),
    "running": lambda worker, work: worker.running(work),
    "start-failure": lambda worker, work: worker.start_failure(work),
}


async def ready_for(act: Act, seed: Seed, worker: FakeWorker) -> Work:
    """Work in the state in which the act is accepted."""
    work = await claim(seed, worker)
    if act is not ACTS["starting"]:
        await worker.starting(work)
    return work


def answered(answer: dict[str, Any]) -> dict[str, Any]:
    """The facts that a replay repeats."""
    return {name: value for name, value in answer.items() if name not in ("status", "server_time")}


async def test_the_barrier_pins_the_deadline(worker: FakeWorker, seed: Seed) -> None:
    seed.task("timed", timeout="90s")
    run = seed.run("timed")
    (work,) = await worker.pull()
    answer = await worker.starting(work)
    deadline, now = (datetime.fromisoformat(answer[name]) for name in ("deadline_at", "server_time"))
    assert deadline - now == timedelta(seconds=90)
    assert answered(answer) == {
        "attempt_status": "starting",
        "run_status": "dispatching",
        "lease_version": 1,
        "expires_at": work.facts["lease"]["expires_at"],
        "deadline_at": answer["deadline_at"],
        "stop": None,
    }
    assert answer["status"] == "applied"
    assert seed.lease(run)["deadline_at"] == deadline
    assert seed.events(run)[-1] == "attempt.starting"


async def test_running_moves_attempt_and_run(worker: FakeWorker, seed: Seed) -> None:
    run = seed.run("report")
    (work,) = await worker.pull()
    await worker.starting(work)
    answer = await worker.running(work)
    assert (answer["status"], answer["attempt_status"], answer["run_status"]) == (
        "applied",
        "running",
        "running",
    )
    assert seed.status(run) == ("running", "running")
    assert seed.events(run)[-2:] == ["attempt.running", "run.running"]


async def test_a_start_time_is_kept_between_barrier_and_now(
    worker: FakeWorker, seed: Seed, database: ScratchDatabase
) -> None:
    for started_at, edge in (
        ("2001-01-01T00:00:00Z", "barrier_at"),
        ("2999-01-01T00:00:00Z", "tenure.clock()"),
    ):
        work = await claim(seed, worker)
        await worker.starting(work)
        await worker.running(work, started_at=started_at)
        off = (
            f"SELECT abs(extract(epoch FROM started_at - {edge})) FROM tenure.run_attempts WHERE attempt = $1"
        )
        assert database.value(off, work.attempt) < 2


async def test_a_start_failure_ends_the_attempt(
    worker: FakeWorker, seed: Seed, database: ScratchDatabase
) -> None:
    run = seed.run("report")
    (work,) = await worker.pull()
    await worker.starting(work)
    answer = await worker.start_failure(work, "not_found", "report: no such file")
    assert (answer["status"], answer["attempt_status"], answer["run_status"]) == (
        "applied",
        "failed",
        "failed",
    )
    row = database.rows("SELECT error_code, error_message FROM tenure.runs")[0]
    assert tuple(row) == ("not_found", "report: no such file")
    assert seed.lease(run)["state"] == "completed"
    assert seed.events(run)[-2:] == ["attempt.failed", "run.failed"]


async def test_a_start_failure_is_retried_by_the_policy(worker: FakeWorker, seed: Seed) -> None:
    seed.task("again", retry={"max_attempts": 2, "backoff": {"base": "5s"}})
    run = seed.run("again")
    (work,) = await worker.pull()
    await worker.starting(work)
    assert (await worker.start_failure(work))["run_status"] == "retry_wait"
    assert seed.status(run) == ("retry_wait", "failed")


async def test_a_start_failure_of_a_cancelled_run_cancels_it(worker: FakeWorker, seed: Seed) -> None:
    run = seed.run("report")
    (work,) = await worker.pull()
    await worker.starting(work)
    seed.request_cancel(run)
    answer = await worker.start_failure(work)
    assert (answer["attempt_status"], answer["run_status"]) == ("cancelled", "cancelled")


async def test_sent_again_it_has_one_effect_and_answers_the_same(
    worker: FakeWorker, seed: Seed, database: ScratchDatabase
) -> None:
    for act in ACTS.values():
        work = await ready_for(act, seed, worker)
        first = await act(worker, work)
        events = database.rows("SELECT * FROM tenure.run_events ORDER BY sequence")
        again = await act(worker, work)
        assert (first["status"], again["status"]) == ("applied", "replayed")
        assert answered(first) == answered(again)
        assert database.rows("SELECT * FROM tenure.run_events ORDER BY sequence") == events


async def test_a_replay_is_recognised_after_a_renewal_in_between(worker: FakeWorker, seed: Seed) -> None:
    for act in (ACTS["starting"], ACTS["running"]):
        work = await ready_for(act, seed, worker)
        await act(worker, work)
        stale = work.with_()
        await worker.renew(work)
        again = await act(worker, stale)
        assert (again["status"], again["lease_version"]) == ("replayed", work.lease_version)


async def test_a_start_is_replayed_after_the_process_ran(worker: FakeWorker, seed: Seed) -> None:
    work = await started(seed, worker)
    answer = await worker.starting(work)
    assert (answer["status"], answer["attempt_status"]) == ("replayed", "running")


async def test_a_start_is_replayed_under_a_stop_that_came_later(worker: FakeWorker, seed: Seed) -> None:
    run = seed.run("report")
    (work,) = await worker.pull()
    await worker.starting(work)
    seed.request_cancel(run)
    answer = await worker.starting(work)
    assert answer["status"] == "replayed"
    assert answer["stop"]["reason"] == "user"


async def test_nothing_starts_under_a_stop(worker: FakeWorker, seed: Seed) -> None:
    run = seed.run("report")
    (work,) = await worker.pull()
    seed.request_cancel(run)
    with refused("stop_requested"):
        await worker.starting(work)
    assert seed.status(run) == ("dispatching", "claimed")


async def test_an_expired_lease_is_renewed_before_the_start(
    worker: FakeWorker, seed: Seed, database: ScratchDatabase
) -> None:
    work = await claim(seed, worker)
    database.shift(timedelta(seconds=31))
    with refused("lease_expired"):
        await worker.starting(work)
    assert (await worker.renew(work))["leases"][0]["late"]
    assert (await worker.starting(work))["status"] == "applied"


async def test_the_truth_is_accepted_on_an_expired_lease(
    worker: FakeWorker, seed: Seed, database: ScratchDatabase
) -> None:
    work = await claim(seed, worker)
    await worker.starting(work)
    database.shift(timedelta(minutes=5))
    assert (await worker.running(work))["status"] == "applied"


async def test_before_the_barrier_nothing_can_have_happened(worker: FakeWorker, seed: Seed) -> None:
    for act in (ACTS["running"], ACTS["start-failure"]):
        work = await claim(seed, worker)
        with refused("lease_not_started"):
            await act(worker, work)


async def test_a_second_process_is_a_conflict(worker: FakeWorker, seed: Seed) -> None:
    work = await started(seed, worker)
    with refused("handle_conflict"):
        await worker.running(work, executor_handle="pid:2")


async def test_another_start_time_is_a_conflict(worker: FakeWorker, seed: Seed) -> None:
    work = await started(seed, worker)
    with refused("content_conflict"):
        await worker.running(work, started_at="2026-01-01T00:00:00Z")


async def test_what_runs_did_not_fail_to_start(worker: FakeWorker, seed: Seed) -> None:
    work = await started(seed, worker)
    with refused("already_started"):
        await worker.start_failure(work)


async def test_another_reason_is_a_conflict_and_kept_as_evidence(worker: FakeWorker, seed: Seed) -> None:
    run = seed.run("report")
    (work,) = await worker.pull()
    await worker.starting(work)
    await worker.start_failure(work)
    for _ in range(2):
        with refused("content_conflict"):
            await worker.start_failure(work, "other")
    assert seed.events(run).count("attempt.late_callback") == 1


async def test_a_start_failure_is_answered_alike_after_the_next_try_began(
    worker: FakeWorker, seed: Seed, database: ScratchDatabase
) -> None:
    seed.task("tried", retry={"max_attempts": 2, "backoff": {"base": "1s"}})
    seed.run("tried")
    (work,) = await worker.pull()
    await worker.starting(work)
    first = await worker.start_failure(work)
    async with stage_parts(database) as parts:
        database.shift(timedelta(seconds=2))
        await retry.run(parts.database, parts.dispatch)
    again = await worker.start_failure(work)
    assert again["status"] == "replayed"
    assert again["run_status"] == first["run_status"] == "retry_wait"


async def test_an_attempt_that_ended_is_settled(worker: FakeWorker, seed: Seed) -> None:
    for act in ACTS.values():
        run = seed.run("report")
        (work,) = await worker.pull()
        await worker.starting(work)
        seed.settle_lost(run)
        with refused("attempt_settled"):
            await act(worker, work)
        # Its own start, come once more, tells nothing new of it.
        kept = act is not ACTS["starting"]
        assert seed.events(run).count("attempt.late_callback") == kept


async def test_work_that_went_back_to_the_queue_is_fenced(worker: FakeWorker, seed: Seed) -> None:
    for act in ACTS.values():
        work = await claim(seed, worker)
        await worker.decline(work, reason="shutdown")
        with refused("lease_fenced"):
            await act(worker, work)


async def test_an_older_generation_is_fenced(worker: FakeWorker, other: FakeWorker, seed: Seed) -> None:
    for act in ACTS.values():
        work = await claim(seed, worker)
        await worker.decline(work, reason="shutdown")
        (taken,) = await other.pull()
        with refused("lease_fenced"):
            await act(worker, work)
        with refused("lease_fenced"):
            await act(worker, work.with_(lease_generation=2, lease_version=3))
        assert (await other.starting(taken))["status"] == "applied"


WRONG: dict[str, Callable[[Work], Work]] = {
    "token": lambda work: work.with_(token="x" * 43),
    "offer": lambda work: work.with_(offer=str(uuid4())),
    "generation": lambda work: work.with_(lease_generation=2),
}


async def test_every_part_of_the_fence_counts(worker: FakeWorker, seed: Seed) -> None:
    for act, wrong in product(ACTS.values(), WRONG.values()):
        work = await ready_for(act, seed, worker)
        with refused("lease_fenced") as answers:
            await act(worker, wrong(work))
        # What differed is not told: it may be somebody else's lease.
        assert answers[0].problem["detail"] == "The lease is not held under this fence."
        assert (await act(worker, work))["status"] == "applied"


async def test_the_lease_of_another_worker_is_fenced(
    worker: FakeWorker, other: FakeWorker, seed: Seed
) -> None:
    for act in ACTS.values():
        work = await ready_for(act, seed, worker)
        with refused("lease_fenced"):
            await act(other, work)


async def test_a_version_that_was_never_given_out_is_invalid(worker: FakeWorker, seed: Seed) -> None:
    for act in ACTS.values():
        work = await ready_for(act, seed, worker)
        with refused("invalid_field") as answers:
            await act(worker, work.with_(lease_version=work.lease_version + 1))
        assert "$.lease.lease_version" in answers[0].problem["detail"]


async def test_an_unknown_attempt_is_said_to_be_unknown(worker: FakeWorker, seed: Seed) -> None:
    for act in ACTS.values():
        work = await claim(seed, worker)
        with refused("unknown_attempt"):
            await act(worker, work.with_(attempt=str(uuid4())))


async def test_a_locked_attempt_is_waited_for_a_second(
    worker: FakeWorker, seed: Seed, database: ScratchDatabase
) -> None:
    work = await claim(seed, worker)
    async with database.session() as somebody:
        await somebody.execute("BEGIN; SELECT FROM tenure.runs FOR UPDATE")
        began = trio.current_time()
        with refused("busy"):
            await worker.starting(work)
        assert 1 <= trio.current_time() - began < 2
    assert (await worker.starting(work))["status"] == "applied"


async def test_a_lock_that_is_released_in_time_is_not_noticed(
    worker: FakeWorker, seed: Seed, database: ScratchDatabase
) -> None:
    work = await claim(seed, worker)
    async with database.session() as somebody, trio.open_nursery() as nursery:
        await somebody.execute("BEGIN; SELECT FROM tenure.runs FOR UPDATE")
        nursery.start_soon(worker.starting, work)
        await database.wait_until("count(*) > 0 FROM pg_stat_activity WHERE query LIKE '%starting_v1%'")
        await somebody.execute("COMMIT")
