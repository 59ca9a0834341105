"""Late but intact is accepted and called late; superseded is refused, and what it told is kept."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any, Final

import pytest

from tests.harness import ScratchDatabase
from tests.harness.fake_worker import FakeWorker, Work, refused
from tests.harness.seed import Seed, SeededRun
from tests.protocol.call import bring
from tests.protocol.facts import check_events, nothing_changes

Left = Callable[[FakeWorker, ScratchDatabase], Awaitable[None]]
Superseded = Callable[[FakeWorker, FakeWorker, Work], Awaitable[None]]

LATE: Final = timedelta(hours=1)


async def renewed(worker: FakeWorker, work: Work) -> tuple[str, bool]:
    """What a renewal says: its status, and whether it was late."""
    (lease,) = (await worker.renew(work))["leases"]
    return lease["status"], lease["late"]


async def succeed(worker: FakeWorker) -> FakeWorker:
    """The next session of this worker, which takes over."""
    successor = worker.another()
    await successor.register(takeover=True)
    return successor


def evidence(database: ScratchDatabase, run: str) -> list[dict[str, Any]]:
    """What is kept of what came too late."""
    rows = database.rows(
        "SELECT payload::text FROM tenure.run_events"
        " WHERE run = $1 AND type = 'attempt.late_callback' ORDER BY sequence",
        run,
    )
    return [json.loads(row["payload"]) for row in rows]


async def test_what_expired_unnoticed_goes_on(
    worker: FakeWorker, seed: Seed, database: ScratchDatabase
) -> None:
    claimed, begun, running = [
        await bring(seed, worker, "report", state) for state in ("claimed", "starting", "running")
    ]
    database.shift(LATE)
    for work in (claimed, begun, running):
        assert await renewed(worker, work) == ("renewed", True)
        assert await renewed(worker, work) == ("renewed", False)
    await worker.start(claimed)
    await worker.running(begun)
    for work in (claimed, begun, running):
        answer = await worker.complete(work)
        assert (answer["status"], answer["late"]) == ("applied", False)
    check_events(database)


async def test_the_end_of_what_expired_is_late_and_true(
    worker: FakeWorker, seed: Seed, database: ScratchDatabase
) -> None:
    begun, running = [await bring(seed, worker, "report", state) for state in ("starting", "running")]
    database.shift(LATE)
    for work in (begun, running):
        for status in ("applied", "replayed"):
            answer = await worker.complete(work)
            told = (answer["status"], answer["late"], answer["run_status"])
            assert told == (status, True, "succeeded")
    marks = database.rows(
        "SELECT payload ->> 'late' AS late FROM tenure.run_events WHERE type = 'attempt.succeeded'"
    )
    assert [row["late"] for row in marks] == ["true", "true"]
    check_events(database)


async def stays(worker: FakeWorker, database: ScratchDatabase) -> None:
    """Nothing happened."""


async def expired(worker: FakeWorker, database: ScratchDatabase) -> None:
    database.shift(LATE)


async def went_offline(worker: FakeWorker, database: ScratchDatabase) -> None:
    await worker.offline()


async def was_replaced(worker: FakeWorker, database: ScratchDatabase) -> None:
    await succeed(worker)


@pytest.mark.parametrize("left", [stays, expired, went_offline, was_replaced])
async def test_the_token_alone_proves_an_end_and_a_statement(
    worker: FakeWorker, other: FakeWorker, seed: Seed, database: ScratchDatabase, left: Left
) -> None:
    ended, stopped = [await bring(seed, worker, "report", "running") for _ in range(2)]
    await left(worker, database)
    for work in (ended, stopped):
        with nothing_changes(database), refused("lease_fenced"):
            await other.complete(work)
        with nothing_changes(database), refused("lease_fenced"):
            await other.attest(work, "stopped")
    assert (await worker.complete(ended))["status"] == "applied"
    statement = await worker.attest(stopped, "stopped")
    assert (statement["status"], statement["disposition"]) == ("recorded", "settled")
    assert (await worker.complete(stopped))["status"] == "applied"
    check_events(database)


async def test_an_end_that_comes_after_the_retry_succeeded_changes_nothing(
    worker: FakeWorker, other: FakeWorker, seed: Seed, database: ScratchDatabase
) -> None:
    run, work, taken = await lost_and_retried(worker, other, seed)
    await other.start(taken)
    await other.complete(taken)
    successor = await succeed(worker)
    report = {"attempt": work.attempt, "call": "complete", "lease_generation": 1}
    for speaker in (worker, successor):
        answer = await speaker.complete(work, "failed", exit_code=3)
        assert (answer["status"], answer["attempt_status"]) == ("settled", "lost")
    assert evidence(database, work.run) == [{**report, "outcome": "failed", "exit_code": 3}]
    await worker.complete(work)  # other content is another report
    assert evidence(database, work.run)[1:] == [{**report, "outcome": "succeeded", "exit_code": 0}]
    assert database.value("SELECT status FROM tenure.runs WHERE run = $1", run.run) == "succeeded"
    check_events(database)


async def test_what_ended_otherwise_is_told_to_stop_and_keeps_what_it_is_told(
    worker: FakeWorker, other: FakeWorker, seed: Seed, database: ScratchDatabase
) -> None:
    _, work, _ = await lost_and_retried(worker, other, seed)
    (lease,) = (await worker.renew(work))["leases"]
    assert (lease["status"], lease["disposition"]) == ("terminal", "stop")
    for act in (worker.running, worker.start_failure):
        for _ in range(2):
            with refused("attempt_settled"):
                await act(work)
    assert [kept["call"] for kept in evidence(database, work.run)] == ["running", "start-failure"]
    assert (await worker.attest(work))["disposition"] == "stop"
    assert (await worker.attest(work, "stopped", 2))["disposition"] == "settled"
    check_events(database)


async def lost_and_retried(worker: FakeWorker, other: FakeWorker, seed: Seed) -> tuple[SeededRun, Work, Work]:
    """A run whose first attempt was proven gone, though its worker lives; the other one has the second."""
    run = seed.run("report")
    (work,) = await worker.pull()
    await worker.starting(work)
    seed.settle_lost(run)
    seed.database.execute(
        "UPDATE tenure.runs SET status = 'retry_wait', next_attempt_at = tenure.clock();"
        "UPDATE tenure.runs SET status = 'queued', next_attempt_at = NULL;"
        "SELECT tenure.create_attempt(run, gen_random_uuid(), 'system', tenure.clock()) FROM tenure.runs"
    )
    (taken,) = await other.pull()
    assert (taken.run, taken.facts["attempt"]["number"]) == (work.run, 2)
    return run, work, taken


async def declined(worker: FakeWorker, other: FakeWorker, work: Work) -> None:
    await worker.decline(work)


async def taken(worker: FakeWorker, other: FakeWorker, work: Work) -> None:
    await worker.decline(work)
    assert len(await other.pull()) == 1


async def ended_elsewhere(worker: FakeWorker, other: FakeWorker, work: Work) -> None:
    await worker.decline(work)
    (again,) = await other.pull()
    await other.start(again)
    await other.complete(again)


@pytest.mark.parametrize("superseded", [declined, taken, ended_elsewhere])
async def test_an_end_of_an_older_generation_is_fenced_and_kept(
    worker: FakeWorker, other: FakeWorker, seed: Seed, database: ScratchDatabase, superseded: Superseded
) -> None:
    work = await bring(seed, worker, "report", "claimed")
    await superseded(worker, other, work)
    with refused("lease_fenced"):
        await worker.complete(work, exit_code=0)
    kept = {"attempt": work.attempt, "call": "complete", "lease_generation": 1}
    assert evidence(database, work.run) == [{**kept, "outcome": "succeeded", "exit_code": 0}]
    with nothing_changes(database):
        with refused("lease_fenced"):
            await worker.complete(work, exit_code=0)
        # Only who held the work is a witness.
        for stranger, fence in ((other, work), (worker, work.with_(token="x" * 43))):
            with refused("lease_fenced"):
                await stranger.complete(fence, exit_code=0)
    check_events(database)
