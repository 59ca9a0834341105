"""Recovery against the real database: what goes back, what waits, and who wins a race."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from functools import partial
from uuid import UUID

import pytest
import trio

from tenure_contracts import bounds
from tenure_control.evidence.registry import Evidence, Registry, Running, Subject, Unknown
from tenure_control.repository.recovery import candidate, control
from tenure_control.repository.recovery.control import Finding
from tenure_control.stage import recovery, startup
from tenure_control.stage.recovery import Recovery
from tenure_control.stage.walk import Bounds
from tests.database.worker import open_worker, start
from tests.harness import ScratchDatabase
from tests.harness.control import StageParts, stage_parts
from tests.harness.seed import Seed

MINUTE = timedelta(minutes=1)


def controls(database: ScratchDatabase) -> list[tuple[str, int, str | None]]:
    """The recovery rows: status, claims so far, last answer."""
    rows = database.rows(
        "SELECT status, claim_version, last_answer FROM tenure.recovery_controls ORDER BY attempt"
    )
    return [(row["status"], row["claim_version"], row["last_answer"]) for row in rows]


async def test_expired_unstarted_work_is_back_in_the_queue(
    database: ScratchDatabase, seed: Seed, parts: StageParts
) -> None:
    async with open_worker(database, seed.credential("w1")) as worker:
        run = seed.run("report")
        (fence,) = await worker.claim()
        assert (await recovery.run(parts.recovery)).scanned == 0
        database.shift(MINUTE)
        summary = await recovery.run(parts.recovery)
        assert dict(summary.changed) == {"returned": 1}
        assert seed.status(run) == ("queued", "claimed")
        assert seed.lease(run)["release_reason"] == "lease_expired"
        assert parts.dispatched == 1
        (late,) = await worker.starting(fence)
        assert late["refusal"] == "lease_fenced"
        (again,) = await worker.claim()
    assert again.lease_generation == 2
    assert controls(database) == []
    assert seed.events(run)[-2:] == ["run.queued", "run.dispatching"]
    actor = database.value("SELECT actor FROM tenure.run_events WHERE dedupe_key LIKE 'released:%'")
    assert actor == "recovery:one"


async def test_started_work_stays_running_and_is_not_run_again(
    database: ScratchDatabase, seed: Seed, parts: StageParts
) -> None:
    async with open_worker(database, seed.credential("w1")) as worker:
        run = seed.run("report")
        (fence,) = await worker.claim()
        await start(worker, fence)
        database.shift(MINUTE)
        summary = await recovery.run(parts.recovery)
        assert (summary.held, summary.changes) == (1, 0)
        assert seed.status(run) == ("running", "running")
        assert controls(database) == [("retry", 1, "unavailable")]
        assert (await recovery.run(parts.recovery)).scanned == 0
        _, *offered = await worker.pull()
        assert offered == []
        database.shift(6 * MINUTE)
        assert (await recovery.run(parts.recovery)).held == 1
        assert controls(database) == [("retry", 2, "unavailable")]
        (ended,) = await worker.complete(fence)
    assert ended["late"]
    assert seed.status(run) == ("succeeded", "succeeded")
    database.shift(6 * MINUTE)
    assert (await recovery.run(parts.recovery)).scanned == 0


async def test_waiting_candidates_do_not_use_up_the_page(
    database: ScratchDatabase, seed: Seed, parts: StageParts
) -> None:
    async with open_worker(database, seed.credential("w1"), limit=64) as worker:
        seed.runs("report", 20)
        fences = [*await worker.claim(16), *await worker.claim(4)]
        await start(worker, *fences)
        database.shift(MINUTE)
        first = await recovery.run(parts.recovery)
        assert (first.scanned, first.truncated) == (16, True)
        late = seed.run("report")
        await worker.claim()
        database.shift(MINUTE)
        second = await recovery.run(parts.recovery)
    assert dict(second.changed) == {"returned": 1}
    assert seed.status(late) == ("queued", "claimed")


async def test_a_lease_from_a_clock_that_went_back_is_recovered(
    database: ScratchDatabase, seed: Seed, parts: StageParts
) -> None:
    async with open_worker(database, seed.credential("w1")) as worker:
        run = seed.run("report")
        database.shift(timedelta(days=2))
        await worker.claim()
        database.shift(timedelta(days=-2))
        assert dict((await recovery.run(parts.recovery)).changed) == {"returned": 1}
    assert seed.status(run) == ("queued", "claimed")


async def test_work_that_is_never_started_ends(
    database: ScratchDatabase, seed: Seed, parts: StageParts
) -> None:
    run = seed.run("report")
    async with open_worker(database, seed.credential("w1")) as worker:
        changed: Counter[str] = Counter()
        for _ in range(bounds.NEVER_STARTED_CLAIMS):
            await worker.heartbeat()
            await worker.claim()
            database.shift(MINUTE)
            changed.update((await recovery.run(parts.recovery)).changed)
    assert changed == {"returned": bounds.NEVER_STARTED_CLAIMS - 1, "never_started": 1}
    assert seed.status(run) == ("failed", "failed")


async def test_a_renewal_between_look_and_commit_wins(
    database: ScratchDatabase, seed: Seed, parts: StageParts
) -> None:
    async with open_worker(database, seed.credential("w1")) as worker:
        run = seed.run("report")
        (fence,) = await worker.claim()
        database.shift(MINUTE)
        (found,) = await parts.database.fetch(partial(candidate.look, limit=2))
        await worker.renew(fence)
        decision, _ = await parts.database.transact(
            partial(candidate.return_to_queue, attempt=found.attempt, actor="recovery:one")
        )
    assert decision == "resolved"
    assert seed.status(run) == ("dispatching", "claimed")


@pytest.mark.parametrize("first", ["start", "recovery"])
async def test_start_against_release_has_one_winner(
    database: ScratchDatabase, seed: Seed, parts: StageParts, first: str
) -> None:
    async with open_worker(database, seed.credential("w1")) as worker:
        run = seed.run("report")
        (fence,) = await worker.claim()
        if first == "start":
            # The start holds its locks while recovery looks, and commits afterwards.
            await worker.connection.execute("BEGIN")
            (started,) = await worker.starting(fence)
            database.shift(MINUTE)
            assert (await recovery.run(parts.recovery)).raced == 1
            await worker.connection.execute("COMMIT")
            assert started["status"] == "applied"
            assert seed.status(run) == ("dispatching", "starting")
            assert (await recovery.run(parts.recovery)).held == 1
            return
        database.shift(MINUTE)
        async with database.session("tenure_control") as other:
            await other.execute("BEGIN")
            await other.rows("SELECT tenure.lock_attempts(ARRAY[$1::uuid])", run.attempt)
            (locked,) = await worker.starting(fence)
            assert locked["locked"]
            await other.rows(
                "SELECT tenure.return_to_queue($1, 'lease_expired', 'recovery:one', tenure.clock())",
                run.attempt,
            )
            await other.execute("COMMIT")
        (refused,) = await worker.starting(fence)
    assert refused["refusal"] == "lease_fenced"
    assert seed.status(run) == ("queued", "claimed")


async def test_completion_against_investigation_has_one_winner(
    database: ScratchDatabase, seed: Seed, parts: StageParts
) -> None:
    async with open_worker(database, seed.credential("w1")) as worker:
        run = seed.run("report")
        (fence,) = await worker.claim()
        await start(worker, fence)
        database.shift(MINUTE)
        claim = await parts.database.transact(
            partial(control.claim, attempt=run.attempt, owner=parts.incarnation.owner)
        )
        assert claim is not None
        (ended,) = await worker.complete(fence)
        assert ended["status"] == "applied"
        finding = Finding("retry", "unavailable", 5.0)
        assert await parts.database.transact(partial(control.settle, claim=claim, finding=finding))
    database.shift(MINUTE)
    assert (await recovery.run(parts.recovery)).scanned == 0
    assert seed.status(run) == ("succeeded", "succeeded")
    assert seed.events(run)[-2:] == ["attempt.succeeded", "run.succeeded"]


async def test_c25_two_recoveries_release_once(database: ScratchDatabase, seed: Seed) -> None:
    async with open_worker(database, seed.credential("w1"), limit=64) as worker:
        runs = seed.runs("report", 16)
        await worker.claim(16)
    database.shift(MINUTE)
    returned = []

    async def recover(parts: StageParts) -> None:
        first, second = await recovery.run(parts.recovery), await recovery.run(parts.recovery)
        returned.extend([first.changes, second.changes])

    async with (
        stage_parts(database, "one") as one,
        stage_parts(database, "two") as two,
        trio.open_nursery() as nursery,
    ):
        nursery.start_soon(recover, one)
        nursery.start_soon(recover, two)
    assert sum(returned) == 16
    assert {seed.status(run) for run in runs} == {("queued", "claimed")}
    for run in runs:
        assert seed.events(run).count("run.queued") == 2


async def test_a_claim_is_taken_over_after_its_expiry_and_the_old_owner_cannot_commit(
    database: ScratchDatabase, seed: Seed, parts: StageParts
) -> None:
    async with open_worker(database, seed.credential("w1")) as worker:
        run = seed.run("report")
        (fence,) = await worker.claim()
        await start(worker, fence)
    database.shift(MINUTE)
    claim = partial(control.claim, attempt=run.attempt)
    first = await parts.database.transact(partial(claim, owner="one/1"))
    assert first is not None
    assert await parts.database.transact(partial(claim, owner="two/1")) is None
    database.shift(MINUTE)
    second = await parts.database.transact(partial(claim, owner="two/1"))
    assert second is not None
    settle = partial(control.settle, finding=Finding("retry", "unavailable", 5.0))
    assert not await parts.database.transact(partial(settle, claim=first))
    assert await parts.database.transact(partial(settle, claim=second))


async def test_a_lease_that_lives_again_resolves_its_investigation(
    database: ScratchDatabase, seed: Seed, parts: StageParts
) -> None:
    async with open_worker(database, seed.credential("w1")) as worker:
        run = seed.run("report")
        (fence,) = await worker.claim()
        await start(worker, fence)
        database.shift(MINUTE)
        (found,) = await parts.database.fetch(partial(candidate.look, limit=2))
        await worker.renew(fence)
        assert await recovery._recover(parts.recovery, found) == "resolved"
    assert controls(database) == [("resolved", 1, "live_or_ended")]
    database.shift(MINUTE)
    assert (await recovery.run(parts.recovery)).held == 1
    assert seed.status(run) == ("running", "running")


async def test_a_row_locked_by_somebody_delays_that_row_only(
    database: ScratchDatabase, seed: Seed, parts: StageParts
) -> None:
    async with open_worker(database, seed.credential("w1")) as worker:
        stuck, free = seed.runs("report", 2)
        await worker.claim(2)
    database.shift(MINUTE)
    async with database.session() as somebody:
        await somebody.execute("BEGIN")
        await somebody.rows("SELECT FROM tenure.runs WHERE run = $1 FOR UPDATE", stuck.run)
        with trio.fail_after(1):
            summary = await recovery.run(parts.recovery)
    assert (summary.raced, dict(summary.changed)) == (1, {"returned": 1})
    assert seed.status(free) == ("queued", "claimed")


async def test_200_unstarted_leases_are_back_in_two_seconds(
    database: ScratchDatabase, seed: Seed, parts: StageParts
) -> None:
    seed.runs("report", 200)
    async with open_worker(database, seed.credential("w1"), limit=200) as worker:
        for _ in range(25):
            await worker.claim(8)
    database.shift(MINUTE)
    with trio.fail_after(4):  # half of it is the machine's, which also runs other tests
        while (await recovery.run(parts.recovery)).truncated:
            pass
    assert database.value("SELECT count(*) FROM tenure.run_attempts WHERE dispatchable") == 200


async def test_startup_gives_every_started_candidate_its_row(
    database: ScratchDatabase, seed: Seed, parts: StageParts
) -> None:
    seed.runs("report", 40)
    async with open_worker(database, seed.credential("w1"), limit=64) as worker:
        fences = [fence for _ in range(5) for fence in await worker.claim(8)]
        await start(worker, *fences[:10])
    database.shift(MINUTE)
    assert not await startup.recover(parts.recovery, passes=1)
    assert len(controls(database)) == 10
    assert {status for status, _, _ in controls(database)} == {"available"}
    assert await startup.recover(parts.recovery)
    assert {status for status, _, _ in controls(database)} == {"retry"}
    assert database.value("SELECT count(*) FROM tenure.run_attempts WHERE dispatchable") == 30


class Asked:
    """A provider that answers as it is told."""

    def __init__(self, answer: object = None, error: Exception | None = None, wait_s: float = 0) -> None:
        self._answer, self._error, self._wait_s = answer, error, wait_s

    async def ask(self, subject: Subject) -> Evidence:
        """Answer, raise, or hang."""
        await trio.sleep(self._wait_s)
        if self._error is not None:
            raise self._error
        if self._answer == "running":
            return Running(subject)
        return self._answer  # type: ignore[return-value]


OTHER = Subject(attempt=UUID(int=7), lease_generation=1)

ANSWERS = [
    (Asked("running"), ("retry", "running")),
    (Asked(error=OSError("gone")), ("retry", "unavailable")),
    (Asked("running", wait_s=60), ("retry", "unavailable")),
    (Asked(Running(OTHER)), ("manual", "contradictory")),
    (Asked(Unknown(OTHER, "unavailable")), ("manual", "contradictory")),
    (Asked("nonsense"), ("manual", "contradictory")),
]


@pytest.mark.parametrize(("provider", "expected"), ANSWERS)
async def test_a_provider_is_never_believed_further_than_it_can_say(
    database: ScratchDatabase, seed: Seed, parts: StageParts, provider: Asked, expected: tuple[str, str]
) -> None:
    async with open_worker(database, seed.credential("w1")) as worker:
        run = seed.run("report")
        (fence,) = await worker.claim()
        await start(worker, fence)
    database.shift(MINUTE)
    registry = Registry({"command": provider}, timeout_s=0.05)
    asking = Recovery(parts.database, parts.incarnation, registry, parts.dispatch, Bounds(16))
    await recovery.run(asking)
    ((status, _, answer),) = controls(database)
    assert (status, answer) == expected
    assert seed.status(run) == ("running", "running")
    database.shift(timedelta(hours=1))
    assert (await recovery.run(asking)).scanned == (0 if status == "manual" else 1)
