"""Schedules against the real database: each occurrence once, whoever races, dies or goes back in time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import msgspec
import pytest
import trio

from tenure_control.repository.cursor import claim as claims
from tenure_control.repository.cursor import commit as commits
from tenure_control.stage import schedule
from tenure_control.stage.outcome import StageError
from tenure_control.stage.schedule import ClockRegressedError
from tests.harness import ScratchDatabase
from tests.harness.control import StageParts, stage_parts
from tests.harness.seed import Seed

HOUR = timedelta(hours=1)
MINUTE = timedelta(minutes=1)


def set_clock(database: ScratchDatabase, moment: datetime) -> None:
    """Move the database's clock to a moment."""
    database.shift(moment - database.value("SELECT tenure.clock()"))


NOON = datetime(2027, 3, 1, 12, 0, 30, tzinfo=UTC)


def cursor(database: ScratchDatabase) -> Any:
    """The one cursor."""
    (row,) = database.rows("SELECT * FROM tenure.trigger_cursors")
    return row


def decisions(database: ScratchDatabase) -> list[str]:
    """The events of the one trigger, without gaps."""
    rows = database.rows("SELECT sequence, type FROM tenure.trigger_events ORDER BY sequence")
    assert [row["sequence"] for row in rows] == list(range(1, len(rows) + 1))
    return [row["type"].removeprefix("trigger.") for row in rows]


def occurrences(database: ScratchDatabase) -> list[datetime]:
    """When the admitted runs were due."""
    return [row["scheduled_for"] for row in database.rows("SELECT scheduled_for FROM tenure.runs ORDER BY 1")]


async def test_a_new_trigger_is_initialised_and_fires_once(
    database: ScratchDatabase, seed: Seed, parts: StageParts
) -> None:
    set_clock(database, NOON)
    seed.task("count", command=["count", "{{ input.day }}"])
    seed.trigger("often", "count", cron="*/5 * * * *", input={"day": "{{ scheduled_for.date }}"})
    assert dict((await schedule.run(parts.schedule)).changed) == {"initialized": 1}
    assert cursor(database)["next_fire_at"] == NOON.replace(minute=5, second=0)
    assert (await schedule.run(parts.schedule)).scanned == 0
    set_clock(database, NOON.replace(minute=5, second=1))
    assert dict((await schedule.run(parts.schedule)).changed) == {"admitted": 1}
    assert (await schedule.run(parts.schedule)).scanned == 0
    row = cursor(database)
    assert row["last_fire_at"] == NOON.replace(minute=5, second=0)
    assert row["next_fire_at"] == row["due_at"] == NOON.replace(minute=10, second=0)
    assert (row["state"], row["claim_owner"], row["last_decision"]) == ("idle", None, "admit")
    assert parts.dispatched == 1
    (run,) = database.rows("SELECT * FROM tenure.runs")
    assert (run["status"], run["cause"], run["trigger"]) == ("queued", "cron", "often")
    assert run["idempotency_key"] == "cron:often:1:2027-03-01T12:05:00.000000Z"
    assert msgspec.json.decode(run["plan"])["argv"] == ["count", "2027-03-01"]
    assert database.value("SELECT count(*) FROM tenure.run_attempts WHERE dispatchable") == 1
    assert decisions(database) == ["initialized", "admitted"]


async def test_two_controls_fire_each_occurrence_exactly_once(database: ScratchDatabase, seed: Seed) -> None:
    set_clock(database, NOON)
    for number in range(12):
        seed.trigger(f"t{number}", "report", cron="* * * * *")

    async def work(parts: StageParts) -> None:
        await schedule.run(parts.schedule)

    async with stage_parts(database, "one") as one, stage_parts(database, "two") as two:
        for _ in range(4):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(work, one)
                nursery.start_soon(work, two)
            database.shift(MINUTE)
    counts = database.rows(
        "SELECT trigger, count(*) AS runs, count(DISTINCT scheduled_for) AS times"
        " FROM tenure.runs GROUP BY trigger"
    )
    assert [(row["runs"], row["times"]) for row in counts] == [(3, 3)] * 12


async def test_an_expired_claim_is_taken_over_and_its_owner_can_no_longer_commit(
    database: ScratchDatabase, seed: Seed, parts: StageParts
) -> None:
    set_clock(database, NOON)
    seed.trigger("often", "report", cron="* * * * *")
    await schedule.run(parts.schedule)
    database.shift(MINUTE)
    dead = await parts.database.transact(partial(claims.claim_due, owner="dead/1"))
    assert dead is not None
    assert (await schedule.run(parts.schedule)).scanned == 0
    database.shift(timedelta(seconds=31))
    assert dict((await schedule.run(parts.schedule)).changed) == {"admitted": 1}
    assert not await parts.database.transact(partial(commits.hold, claim=dead))
    assert len(occurrences(database)) == 1


async def test_a_claim_of_a_clock_that_went_back_is_taken_over(
    database: ScratchDatabase, seed: Seed, parts: StageParts
) -> None:
    set_clock(database, NOON)
    seed.trigger("often", "report", cron="* * * * *")
    database.shift(2 * HOUR)
    assert await parts.database.transact(partial(claims.claim_due, owner="dead/1")) is not None
    database.shift(-2 * HOUR)
    with pytest.raises(StageError, match="clock_regressed"):
        await schedule.run(parts.schedule)
    assert cursor(database)["state"] == "idle"


OVERTAKEN = {
    "an operator's change": "UPDATE tenure.trigger_cursors SET state = 'idle', claim_owner = NULL,"
    " state_version = state_version + 1, claim_token = NULL, claim_expires_at = NULL",
    "a takeover": "UPDATE tenure.trigger_cursors"
    " SET claim_token = gen_random_uuid(), claim_version = claim_version + 1",
    "a pause": "UPDATE tenure.trigger_heads SET state = 'paused'",
    "a new revision": "UPDATE tenure.trigger_heads SET current_revision = 2",
}


@pytest.mark.parametrize("change", OVERTAKEN.values(), ids=OVERTAKEN.keys())
async def test_a_claim_that_was_overtaken_commits_nothing(
    database: ScratchDatabase, seed: Seed, parts: StageParts, change: str
) -> None:
    set_clock(database, NOON)
    seed.trigger("often", "report", cron="* * * * *")
    await schedule.run(parts.schedule)
    database.shift(MINUTE)
    claim = await parts.database.transact(partial(claims.claim_due, owner="one/1"))
    assert claim is not None
    database.execute(change)
    assert await schedule._decide(parts.schedule, claim) == "raced"
    assert occurrences(database) == []
    assert decisions(database) == ["initialized"]


async def test_c45_control_dies_between_run_and_cursor(
    database: ScratchDatabase, seed: Seed, parts: StageParts, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_clock(database, NOON)
    seed.trigger("often", "report", cron="* * * * *")
    await schedule.run(parts.schedule)
    database.shift(MINUTE)

    async def die(connection: Any, *_: Any, **__: Any) -> None:
        assert await connection.fetchval("SELECT count(*) FROM tenure.runs") == 1
        connection.terminate()
        await connection.execute("SELECT 1")

    with monkeypatch.context() as patched:
        patched.setattr(commits, "advance", die)
        with pytest.raises(StageError):
            await schedule.run(parts.schedule)
    assert occurrences(database) == []
    assert cursor(database)["state"] == "claimed"
    database.shift(timedelta(seconds=31))
    await schedule.run(parts.schedule)
    assert len(occurrences(database)) == 1
    assert database.value("SELECT count(*) FROM tenure.run_attempts") == 1


async def test_a_run_with_the_key_of_an_occurrence_is_adopted(
    database: ScratchDatabase, seed: Seed, parts: StageParts
) -> None:
    set_clock(database, NOON)
    seed.trigger("often", "report", cron="* * * * *")
    await schedule.run(parts.schedule)
    seed.run("report", key="cron:often:1:2027-03-01T12:01:00.000000Z")
    database.shift(MINUTE)
    assert dict((await schedule.run(parts.schedule)).changed) == {"adopted": 1}
    assert cursor(database)["next_fire_at"] == NOON.replace(minute=2, second=0)
    assert database.value("SELECT count(*) FROM tenure.runs") == 1


async def test_a_backlog_is_one_run(database: ScratchDatabase, seed: Seed, parts: StageParts) -> None:
    set_clock(database, NOON)
    seed.trigger("often", "report", cron="* * * * *")
    await schedule.run(parts.schedule)
    database.shift(3 * HOUR)
    assert dict((await schedule.run(parts.schedule)).changed) == {"admitted": 1}
    assert occurrences(database) == [NOON.replace(minute=1, second=0)]
    assert cursor(database)["next_fire_at"] == NOON.replace(hour=15, minute=1, second=0)


async def test_a_misfire_is_skipped_with_its_event(
    database: ScratchDatabase, seed: Seed, parts: StageParts
) -> None:
    set_clock(database, NOON)
    seed.trigger("often", "report", cron="0 * * * *", misfire="skip", grace="10s")
    await schedule.run(parts.schedule)
    set_clock(database, NOON.replace(hour=13, minute=0, second=20))
    assert dict((await schedule.run(parts.schedule)).changed) == {"skipped": 1}
    assert occurrences(database) == []
    assert cursor(database)["last_fire_at"] is None
    assert decisions(database) == ["initialized", "skipped"]


async def test_overlap_skip_waits_for_the_older_run(
    database: ScratchDatabase, seed: Seed, parts: StageParts
) -> None:
    set_clock(database, NOON)
    seed.trigger("often", "report", cron="* * * * *", overlap="skip")
    for _ in range(3):
        await schedule.run(parts.schedule)
        database.shift(MINUTE)
    assert decisions(database) == ["initialized", "admitted", "skipped"]


async def test_an_archived_task_lets_its_occurrences_pass(
    database: ScratchDatabase, seed: Seed, parts: StageParts
) -> None:
    set_clock(database, NOON)
    seed.trigger("often", "report", cron="* * * * *")
    await schedule.run(parts.schedule)
    database.execute("UPDATE tenure.task_heads SET state = 'archived'")
    database.shift(MINUTE)
    assert dict((await schedule.run(parts.schedule)).changed) == {"skipped": 1}
    assert occurrences(database) == []


async def test_a_trigger_ends(database: ScratchDatabase, seed: Seed, parts: StageParts) -> None:
    set_clock(database, NOON)
    seed.trigger("once", "report", cron="0 * * * *", end="2027-03-01T13:00:00Z")
    await schedule.run(parts.schedule)
    database.shift(HOUR)
    await schedule.run(parts.schedule)
    assert len(occurrences(database)) == 1
    assert (cursor(database)["due_at"], cursor(database)["next_fire_at"]) == (None, None)


async def test_a_clock_that_went_back_fails_the_stage_and_recomputes(
    database: ScratchDatabase, seed: Seed, parts: StageParts
) -> None:
    set_clock(database, NOON)
    seed.trigger("yearly", "report", cron="@yearly")
    set_clock(database, NOON.replace(year=2030))
    await schedule.run(parts.schedule)
    set_clock(database, NOON)
    with pytest.raises(StageError, match="clock_regressed") as caught:
        await schedule.run(parts.schedule)
    assert isinstance(caught.value.__cause__, ClockRegressedError)
    assert cursor(database)["next_fire_at"] == datetime(2028, 1, 1, tzinfo=UTC)
    assert (await schedule.run(parts.schedule)).scanned == 0


DAMAGE = [
    "UPDATE tenure.task_revisions SET spec = spec || ' ' WHERE task = 'report'",
    "UPDATE tenure.trigger_revisions SET spec = replace(spec, 'UTC', 'EST') WHERE trigger = 'bad'",
    "UPDATE tenure.trigger_revisions SET task_digest = sha256('x') WHERE trigger = 'bad'",
]


@pytest.mark.parametrize("damage", DAMAGE)
async def test_a_damaged_trigger_fails_the_stage_after_the_others_were_served(
    database: ScratchDatabase, seed: Seed, parts: StageParts, damage: str
) -> None:
    set_clock(database, NOON)
    seed.trigger("bad", "report")
    seed.task("other")
    seed.trigger("good", "other")
    database.execute(
        "ALTER TABLE tenure.task_revisions DISABLE TRIGGER ALL;"
        "ALTER TABLE tenure.trigger_revisions DISABLE TRIGGER ALL;"
        f"{damage}"
    )
    with pytest.raises(StageError, match="digest_mismatch") as caught:
        await schedule.run(parts.schedule)
    assert dict(caught.value.summary.changed) == {"initialized": 1}
    assert (await schedule.run(parts.schedule)).scanned == 0


async def test_the_long_night_of_berlin_has_25_hourly_firings(
    database: ScratchDatabase, seed: Seed, parts: StageParts
) -> None:
    start = datetime(2026, 10, 24, 21, 59, 30, tzinfo=UTC)
    set_clock(database, start)
    seed.trigger("hourly", "report", cron="0 * * * *", timezone="Europe/Berlin")
    seed.trigger("nightly", "report", cron="30 2 * * *", timezone="Europe/Berlin")
    for _ in range(26 * 2):
        await schedule.run(parts.schedule)
        database.shift(MINUTE * 30)
    fired = database.rows("SELECT trigger, count(*) AS runs FROM tenure.runs GROUP BY trigger ORDER BY 1")
    hourly = database.value(
        "SELECT count(*) FROM tenure.runs WHERE trigger = 'hourly'"
        " AND (scheduled_for AT TIME ZONE 'Europe/Berlin')::date = '2026-10-25'"
    )
    assert hourly == 25
    assert [row["runs"] for row in fired if row["trigger"] == "nightly"] == [1]
