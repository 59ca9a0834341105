"""Who is served next: nothing at the head of the queue hides what is behind it; nobody waits for a flood."""

from __future__ import annotations

from typing import Final

import pytest

from tests.harness.fake_worker import FakeWorker
from tests.harness.seed import Seed, SeededRun

# More of what stands in the queue already, written directly, because admitting each takes minutes. Each tag
# follows the one before as `take_fair_tag` would have made it for a project of weight 1.
COPIES: Final = """
SET session_replication_role = replica;
INSERT INTO tenure.runs SELECT (r).* FROM (
    SELECT jsonb_populate_record(r, jsonb_build_object(
        'run', gen_random_uuid(), 'idempotency_key', 'copy' || i)) AS r
    FROM tenure.runs r, generate_series(1, {count}) i WHERE r.run = '{run}') many;
INSERT INTO tenure.run_attempts SELECT (a).* FROM (
    SELECT jsonb_populate_record(a, jsonb_build_object(
        'attempt', r.run, 'run', r.run, 'fair_tag', a.fair_tag + row_number() OVER ())) AS a
    FROM tenure.run_attempts a, tenure.runs r
    WHERE a.attempt = '{attempt}' AND r.idempotency_key LIKE 'copy%') many;
UPDATE tenure.project_shares s SET next_fair_tag = a.next
FROM (SELECT max(fair_tag) + 1 AS next FROM tenure.run_attempts) a WHERE project = 'shop' AND priority = 5;
SET session_replication_role = origin;
"""


def flood(seed: Seed, count: int) -> None:
    """A long queue of the project `shop`."""
    first = seed.run("report")
    seed.database.execute(COPIES.format(count=count - 1, run=first.run, attempt=first.attempt))


async def take(worker: FakeWorker, pulls: int) -> list[str]:
    """The attempts of so many pulls of one offer each."""
    return [work.attempt for _ in range(pulls) for work in await worker.pull()]


@pytest.fixture
async def worker(unregistered: FakeWorker) -> FakeWorker:
    """A session with room for everything."""
    await unregistered.register(limit=64)
    return unregistered


@pytest.fixture
def quiet(seed: Seed) -> Seed:
    """Another project, with a task of its own."""
    seed.task("report", project="quiet")
    return seed


def lone(seed: Seed) -> SeededRun:
    """A single run of the other project."""
    return seed.run("report", project="quiet")


@pytest.mark.parametrize("count", [10_000, pytest.param(100_000, marks=pytest.mark.slow)])
async def test_a_single_run_waits_for_one_of_a_flood(worker: FakeWorker, quiet: Seed, count: int) -> None:
    flood(quiet, count)
    for _ in range(3):
        run = lone(quiet)
        assert str(run.attempt) in await take(worker, 2)


async def test_so_it_does_in_the_middle_of_a_flood(worker: FakeWorker, quiet: Seed) -> None:
    quiet.runs("report", 12)
    await take(worker, 5)
    assert str(lone(quiet).attempt) in await take(worker, 2)


async def test_two_floods_share_equally(worker: FakeWorker, quiet: Seed) -> None:
    first = quiet.runs("report", 12)
    quiet.runs("report", 12, project="quiet")
    ours = {str(run.attempt) for run in first}
    taken = [attempt in ours for attempt in await take(worker, 8)]
    assert sum(taken) == 4


async def test_a_weight_is_a_share(worker: FakeWorker, seed: Seed) -> None:
    seed.project("heavy", weight=3)
    seed.task("report", project="heavy")
    light = {str(run.attempt) for run in seed.runs("report", 8)}
    seed.runs("report", 24, project="heavy")
    taken = [attempt in light for attempt in await take(worker, 12)]
    assert sum(taken) == 3


async def test_rest_gives_no_credit(worker: FakeWorker, quiet: Seed) -> None:
    quiet.runs("report", 6)
    await take(worker, 6)
    quiet.runs("report", 6)  # while the other project rested
    rested = {str(run.attempt) for run in quiet.runs("report", 6, project="quiet")}
    taken = [attempt in rested for attempt in await take(worker, 6)]
    assert sum(taken) == 3


async def test_unimportant_work_of_a_project_does_not_delay_its_important_work(
    worker: FakeWorker, quiet: Seed
) -> None:
    quiet.runs("report", 20, project="quiet", priority=1)
    quiet.runs("report", 10)
    assert str(lone(quiet).attempt) in await take(worker, 2)


@pytest.mark.parametrize("unmatched", [16, 300])
async def test_unmatched_work_at_the_head_hides_nothing(
    worker: FakeWorker, seed: Seed, unmatched: int
) -> None:
    seed.task("elsewhere", placement={"require": {"region": "moon"}})
    seed.runs("elsewhere", unmatched, priority=9)
    run = seed.run("report")
    assert await take(worker, 1) == [str(run.attempt)]


@pytest.mark.parametrize("ends", [False, True], ids=["in service", "ended"])
async def test_unmatched_work_does_not_stop_the_clock_for_who_rested(
    worker: FakeWorker, quiet: Seed, ends: bool
) -> None:
    quiet.task("elsewhere", project="moon", placement={"require": {"region": "moon"}})
    quiet.run("elsewhere", project="moon")
    for _ in range(12):
        quiet.run("report")
        (work,) = await worker.pull()
        if ends:
            await worker.starting(work)
            await worker.complete(work)
    quiet.runs("report", 12, project="quiet")  # which rested
    busy = {str(run.attempt) for run in quiet.runs("report", 4)}
    taken = [attempt in busy for attempt in await take(worker, 8)]
    assert sum(taken) in {3, 4}  # one turn may be theirs already


async def test_a_queue_of_another_class_is_not_stood_behind(worker: FakeWorker, quiet: Seed) -> None:
    quiet.task("apart", project="quiet", placement={"forbid": {"region": "moon"}})
    quiet.runs("report", 40)
    await take(worker, 5)
    assert str(quiet.run("apart", project="quiet").attempt) in await take(worker, 2)


async def test_cancelled_runs_at_the_head_hide_nothing(worker: FakeWorker, seed: Seed) -> None:
    seed.runs("report", 300)
    seed.database.execute(
        "UPDATE tenure.runs SET cancel_requested_at = tenure.clock(), cancel_reason = 'user',"
        " version = version + 1, event_sequence = event_sequence + 1"
    )
    run = seed.run("report")
    assert await take(worker, 1) == [str(run.attempt)]
