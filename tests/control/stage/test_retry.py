"""Retry, attempt admission, frontier and convergence against the real database."""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from typing import Any
from uuid import uuid4

import pytest
import trio

from tenure_control.repository.cancellation import run as cancelled
from tenure_control.stage import admission, cancellation, frontier, retry
from tenure_control.stage.outcome import CandidateFault, StageError
from tests.database.worker import open_worker, start
from tests.harness import ScratchDatabase
from tests.harness.control import StageParts, stage_parts
from tests.harness.seed import Seed, SeededRun

MINUTE = timedelta(minutes=1)


async def test_a_failed_run_is_tried_again_when_due(
    database: ScratchDatabase, seed: Seed, parts: StageParts
) -> None:
    seed.task("flaky", retry={"max_attempts": 2, "backoff": {"base": "30s"}})
    run = seed.run("flaky")
    async with open_worker(database, seed.credential("w1")) as worker:
        for number in (1, 2):
            (fence,) = await worker.claim()
            await start(worker, fence)
            await worker.complete(fence, outcome="failed", exit_code=1)
            assert (await retry.run(parts.database, parts.dispatch)).scanned == 0
            database.shift(MINUTE)
            summary = await retry.run(parts.database, parts.dispatch)
            assert dict(summary.changed) == ({"requeued": 1} if number == 1 else {})
    assert parts.dispatched == 1
    assert seed.status(run) == ("failed", "failed")
    attempts = database.rows("SELECT number, try, status FROM tenure.run_attempts ORDER BY number")
    assert [tuple(row) for row in attempts] == [(1, 1, "failed"), (2, 2, "failed")]
    assert "run.retry_wait" in seed.events(run)


LOST = [
    ({"max_attempts": 3, "on": ["lost"], "safety": "idempotent", "backoff": {"base": "0s"}}, "queued", None),
    (
        {"max_attempts": 3, "on": ["lost"], "safety": "idempotent", "backoff": {"base": "9s"}},
        "retry_wait",
        None,
    ),
    ({"max_attempts": 1, "on": ["lost"], "safety": "idempotent"}, "failed", "retry_exhausted"),
    ({"max_attempts": 3}, "failed", "retry_disabled"),
    (None, "failed", "retry_disabled"),
]


@pytest.mark.parametrize(("policy", "status", "code"), LOST)
async def test_a_lost_run_gets_the_decision_of_its_policy(
    database: ScratchDatabase,
    seed: Seed,
    parts: StageParts,
    policy: dict[str, object] | None,
    status: str,
    code: str | None,
) -> None:
    definition: dict[str, Any] = {"retry": policy} if policy else {}
    seed.task("work", **definition)
    run = seed.run("work")
    async with open_worker(database, seed.credential("w1")) as worker:
        await start(worker, *await worker.claim())
    seed.settle_lost(run)
    await retry.run(parts.database, parts.dispatch)
    row = database.rows("SELECT status, error_code FROM tenure.runs")[0]
    assert (row["status"], row["error_code"]) == (status, code)
    assert parts.dispatched == (status == "queued")
    seed.events(run)


async def test_two_controls_retry_once(database: ScratchDatabase, seed: Seed) -> None:
    seed.task("flaky", retry={"max_attempts": 2, "backoff": {"base": "1s"}})
    runs = seed.runs("flaky", 8)
    async with open_worker(database, seed.credential("w1")) as worker:
        fences = await worker.claim(8)
        await start(worker, *fences)
        await worker.complete(*fences, outcome="failed", exit_code=1)
    database.shift(MINUTE)

    async def work(parts: StageParts) -> None:
        await retry.run(parts.database, parts.dispatch)

    async with (
        stage_parts(database, "one") as one,
        stage_parts(database, "two") as two,
        trio.open_nursery() as nursery,
    ):
        nursery.start_soon(work, one)
        nursery.start_soon(work, two)
    assert database.value("SELECT count(*) FROM tenure.run_attempts") == 16
    assert database.value("SELECT count(*) FROM tenure.run_attempts WHERE dispatchable") == 8
    for run in runs:
        seed.events(run)


async def test_a_run_to_be_cancelled_is_not_retried(
    database: ScratchDatabase, seed: Seed, parts: StageParts
) -> None:
    seed.task("flaky", retry={"max_attempts": 2, "backoff": {"base": "1s"}})
    run = seed.run("flaky")
    async with open_worker(database, seed.credential("w1")) as worker:
        (fence,) = await worker.claim()
        await start(worker, fence)
        await worker.complete(fence, outcome="failed", exit_code=1)
    seed.request_cancel(run)
    database.shift(MINUTE)
    assert (await retry.run(parts.database, parts.dispatch)).scanned == 0
    assert dict((await cancellation.run(parts.database)).changed) == {"cancelled": 1}
    assert seed.status(run) == ("cancelled", "failed")
    seed.events(run)


def without_attempt(database: ScratchDatabase, run: SeededRun) -> None:
    """Make a queued run one that has no attempt, as one that waited for a slot."""
    database.execute(
        "SET session_replication_role = replica;"
        f"DELETE FROM tenure.run_attempts WHERE run = '{run.run}';"
        "SET session_replication_role = origin"
    )


async def test_a_queued_run_without_attempt_gets_one(
    database: ScratchDatabase, seed: Seed, parts: StageParts
) -> None:
    waiting, other = seed.runs("report", 2)
    without_attempt(database, waiting)
    summary = await admission.run(parts.database, parts.dispatch)
    assert (summary.scanned, dict(summary.changed)) == (1, {"admitted": 1})
    assert database.value("SELECT count(*) FROM tenure.run_attempts WHERE run = $1", waiting.run) == 1
    assert (await admission.run(parts.database, parts.dispatch)).scanned == 0
    assert seed.status(other) == ("queued", "claimed")


async def test_a_plan_that_was_tampered_with_ends_its_run(
    database: ScratchDatabase, seed: Seed, parts: StageParts
) -> None:
    run = seed.run("report")
    without_attempt(database, run)
    database.execute("UPDATE tenure.runs SET plan = plan || ' '")
    summary = await admission.run(parts.database, parts.dispatch)
    assert dict(summary.changed) == {"digest_mismatch": 1}
    row = database.rows("SELECT status, error_code FROM tenure.runs")[0]
    assert tuple(row) == ("failed", "digest_mismatch")
    assert parts.dispatched == 0


async def test_a_workflow_run_cannot_be_and_fails_the_stage(
    database: ScratchDatabase, seed: Seed, parts: StageParts
) -> None:
    assert (await frontier.run(parts.database)).scanned == 0
    database.execute(
        "INSERT INTO tenure.runs (run, project, kind, cause, status, version, event_sequence, priority,"
        " idempotency_key, input, created_at)"
        " VALUES ($1, 'shop', 'workflow', 'manual', 'running', 1, 1, 5, 'w', 'null', tenure.clock())",
        uuid4(),
    )
    with pytest.raises(StageError, match="impossible_state") as caught:
        await frontier.run(parts.database)
    assert isinstance(caught.value.__cause__, CandidateFault)


async def test_what_nobody_executes_is_cancelled_and_the_rest_waits(
    database: ScratchDatabase, seed: Seed, parts: StageParts
) -> None:
    async with open_worker(database, seed.credential("w1")) as worker:
        started = seed.run("report")
        (running,) = await worker.claim()
        await start(worker, running)
        dispatching = seed.run("report")
        (unstarted,) = await worker.claim()
        queued = seed.run("report")
        for run in (started, dispatching, queued):
            seed.request_cancel(run)
        summary = await cancellation.run(parts.database)
        assert (summary.held, dict(summary.changed)) == (1, {"cancelled": 2})
        (refused,) = await worker.starting(unstarted)
        assert refused["refusal"] in ("attempt_settled", "lease_fenced")
        (stopped,) = await worker.complete(running, outcome="failed", exit_code=143)
        assert stopped["status"] == "applied"
    assert seed.status(queued) == seed.status(dispatching) == ("cancelled", "cancelled")
    assert seed.lease(dispatching)["release_reason"] == "settled"
    assert seed.status(started)[0] == "cancelled"
    assert (await cancellation.run(parts.database)).scanned == 0
    for run in (started, dispatching, queued):
        seed.events(run)


async def test_c13_a_claim_against_convergence_has_one_winner(
    database: ScratchDatabase, seed: Seed, parts: StageParts
) -> None:
    run = seed.run("report")
    async with open_worker(database, seed.credential("w1")) as worker:
        await worker.connection.execute("BEGIN")
        (fence,) = await worker.claim()
        assert await parts.database.transact(partial(cancelled.converge, run=run.run)) == "leave"
        await worker.connection.execute("COMMIT")
        seed.request_cancel(run)
        assert dict((await cancellation.run(parts.database)).changed) == {"cancelled": 1}
        (refused,) = await worker.starting(fence)
        assert refused["refusal"] is not None
    assert seed.status(run) == ("cancelled", "cancelled")
