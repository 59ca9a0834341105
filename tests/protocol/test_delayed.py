"""A duplicate that the network kept until everything has moved on: refused, and without any effect."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any, Final

import pytest

from tests.harness import ScratchDatabase
from tests.harness.fake_worker import FakeWorker, Refused, Work, fresh_offers, work_of
from tests.harness.seed import Seed
from tests.protocol.call import bring
from tests.protocol.facts import nothing_changes

Duplicate = Callable[[], Awaitable[Any]]


async def told(duplicate: Duplicate) -> str:
    """The code of the refusal, or what a pull says of its offer."""
    try:
        answer = await duplicate()
    except Refused as refusal:
        return refusal.code
    assert answer["offered"] == []
    return "settled" if answer["settled"] else "nothing"


async def succeed(worker: FakeWorker, **registration: Any) -> FakeWorker:
    """The next session of this worker."""
    successor = worker.another()
    await successor.register(**registration)
    return successor


# What became of a session whose registration arrives once more.


async def was_replaced(worker: FakeWorker, database: ScratchDatabase) -> None:
    await succeed(worker, takeover=True)


async def was_replaced_by_one_that_left(worker: FakeWorker, database: ScratchDatabase) -> None:
    await (await succeed(worker, takeover=True)).offline()


async def expired_and_was_replaced(worker: FakeWorker, database: ScratchDatabase) -> None:
    database.shift(timedelta(days=30))
    await succeed(worker)


async def was_replaced_by_one_that_expired(worker: FakeWorker, database: ScratchDatabase) -> None:
    await succeed(worker, takeover=True)
    database.shift(timedelta(days=30))


async def went_offline(worker: FakeWorker, database: ScratchDatabase) -> None:
    await worker.offline()


SESSIONS: Final = (
    was_replaced,
    was_replaced_by_one_that_left,
    expired_and_was_replaced,
    was_replaced_by_one_that_expired,
    went_offline,
)


@pytest.mark.parametrize("became", SESSIONS)
async def test_an_old_session_never_comes_back(
    worker: FakeWorker,
    seed: Seed,
    database: ScratchDatabase,
    became: Callable[[FakeWorker, ScratchDatabase], Awaitable[None]],
) -> None:
    work = await bring(seed, worker, "report", "running")
    seed.run("report")
    await became(worker, database)
    offers = fresh_offers()
    calls: dict[str, Duplicate] = {
        "register": worker.register,
        "register with takeover": lambda: worker.register(takeover=True),
        "heartbeat": worker.heartbeat,
        "drain": worker.drain,
        "offers": lambda: worker.offers(offers),
        "leases": worker.leases,
        "renew": lambda: worker.renew(work.with_()),
        "decline": lambda: worker.decline(work),
        "starting": lambda: worker.starting(work.with_()),
        "running": lambda: worker.running(work.with_()),
        "start-failure": lambda: worker.start_failure(work.with_()),
    }
    if became is not went_offline:
        calls["offline"] = worker.offline
    with nothing_changes(database):
        assert {name: await told(call) for name, call in calls.items()} == dict.fromkeys(
            calls, "session_fenced"
        )


# What became of the work that a pull brought.


async def was_declined(worker: FakeWorker, other: FakeWorker, database: ScratchDatabase, work: Work) -> None:
    await worker.decline(work)


async def was_taken_by_another(
    worker: FakeWorker, other: FakeWorker, database: ScratchDatabase, work: Work
) -> None:
    await worker.decline(work)
    (taken,) = await other.pull()
    assert (taken.attempt, taken.lease_generation) == (work.attempt, 2)


async def was_taken_anew_by_itself(
    worker: FakeWorker, other: FakeWorker, database: ScratchDatabase, work: Work
) -> None:
    await worker.decline(work, reason="shutdown")
    (taken,) = await worker.pull()
    assert (taken.attempt, taken.lease_generation) == (work.attempt, 2)


async def runs_elsewhere(
    worker: FakeWorker, other: FakeWorker, database: ScratchDatabase, work: Work
) -> None:
    await worker.decline(work)
    await other.start((await other.pull())[0])


async def ended_elsewhere(
    worker: FakeWorker, other: FakeWorker, database: ScratchDatabase, work: Work
) -> None:
    await worker.decline(work)
    (taken,) = await other.pull()
    await other.start(taken)
    await other.complete(taken)


async def ended(worker: FakeWorker, other: FakeWorker, database: ScratchDatabase, work: Work) -> None:
    await worker.start(work.with_())
    await worker.complete(work)


async def failed_and_runs_again_elsewhere(
    worker: FakeWorker, other: FakeWorker, database: ScratchDatabase, work: Work
) -> None:
    await worker.start(work.with_())
    await worker.complete(work, "failed")
    database.execute(
        "UPDATE tenure.runs SET status = 'queued', next_attempt_at = NULL;"
        "SELECT tenure.create_attempt(run, gen_random_uuid(), 'system', tenure.clock()) FROM tenure.runs"
    )
    (taken,) = await other.pull()
    assert taken.run == work.run
    await other.start(taken)


Became = Callable[[FakeWorker, FakeWorker, ScratchDatabase, Work], Awaitable[None]]

# What the duplicates of the pull and of the start are told.
WORK: Final[dict[Became, tuple[str, str]]] = {
    was_declined: ("settled", "lease_fenced"),
    was_taken_by_another: ("settled", "lease_fenced"),
    was_taken_anew_by_itself: ("settled", "lease_fenced"),
    runs_elsewhere: ("settled", "lease_fenced"),
    ended_elsewhere: ("settled", "lease_fenced"),
    ended: ("settled", "attempt_settled"),
    failed_and_runs_again_elsewhere: ("settled", "attempt_settled"),
}


@pytest.mark.parametrize("became", WORK)
async def test_an_old_pull_and_an_old_start_do_nothing(
    worker: FakeWorker,
    other: FakeWorker,
    seed: Seed,
    database: ScratchDatabase,
    became: Became,
) -> None:
    seed.task("report", retry={"max_attempts": 2, "backoff": {"base": "1m"}})
    seed.run("report")
    offers = fresh_offers()
    (work,) = work_of(await worker.offers(offers), offers)
    await became(worker, other, database, work)
    with nothing_changes(database, but=["worker_sessions.seen_at", "worker_sessions.expires_at"]):
        pulled, started = await told(lambda: worker.offers(offers)), await told(lambda: worker.starting(work))
        assert (pulled, started) == WORK[became]
        # And once more, because the first duplicate might have left something behind.
        pulled, started = await told(lambda: worker.offers(offers)), await told(lambda: worker.starting(work))
        assert (pulled, started) == WORK[became]


async def test_an_old_start_of_what_was_lost_does_nothing(
    worker: FakeWorker, seed: Seed, database: ScratchDatabase
) -> None:
    run = seed.run("report")
    (work,) = await worker.pull()
    await worker.starting(work)
    seed.settle_lost(run)
    with nothing_changes(database):
        assert await told(lambda: worker.starting(work)) == "attempt_settled"


async def test_a_first_start_of_what_was_cancelled_meanwhile_is_kept_as_evidence(
    worker: FakeWorker, seed: Seed, database: ScratchDatabase
) -> None:
    run = seed.run("report")
    (work,) = await worker.pull()
    cancel_unstarted(database)
    for _ in range(2):
        assert await told(lambda: worker.starting(work)) == "attempt_settled"
    assert seed.events(run).count("attempt.late_callback") == 1


def cancel_unstarted(database: ScratchDatabase) -> None:
    """What convergence does with claimed work, as far as attempt and lease are concerned."""
    database.execute(
        "WITH a AS (UPDATE tenure.run_attempts SET status = 'cancelled', ended_at = tenure.clock())"
        " UPDATE tenure.run_leases SET state = 'released', release_reason = 'settled', version = version + 1"
    )
