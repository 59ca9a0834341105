"""Acknowledgements and completions travel together: one call for many, and no item harms another."""

from __future__ import annotations

from functools import partial
from typing import Any

import trio

from tests.harness import ScratchDatabase
from tests.harness.fake_worker import FakeWorker, Refused, Work
from tests.harness.ingress import RunningIngress
from tests.harness.seed import Seed


async def started(seed: Seed, worker: FakeWorker, count: int) -> list[Work]:
    """Runs whose work this worker holds and started."""
    seed.task("many", command=["echo"])
    seed.runs("many", count)
    held = await worker.pull(count)
    assert len(held) == count
    for work in held:
        await worker.starting(work)
    return held


async def lane_calls(ingress: RunningIngress, lane: str) -> tuple[float, float]:
    """How many database calls a lane made, and with how many items."""
    lines = (await ingress.probe("/metrics")).text.splitlines()
    values = dict(line.rsplit(" ", 1) for line in lines if not line.startswith("#"))
    return tuple(
        float(values[f'tenure_ingress_lane_{what}_total{{lane="{lane}"}}']) for what in ("calls", "items")
    )  # type: ignore[return-value]


async def test_reports_that_come_together_travel_together(
    seed: Seed, worker: FakeWorker, ingress: RunningIngress, database: ScratchDatabase
) -> None:
    held = await started(seed, worker, 8)
    async with database.session() as other:
        # Whatever comes while the first call waits has to collect.
        await other.execute("BEGIN; LOCK TABLE tenure.run_events IN SHARE MODE")
        async with trio.open_nursery() as nursery:
            nursery.start_soon(worker.complete, held[0])
            await database.wait_until_blocked()
            for work in held[1:]:
                nursery.start_soon(worker.complete, work)
            await _all_arrived(ingress, len(held) - 1)
            await other.execute("COMMIT")
    assert database.value("SELECT count(*) FROM tenure.runs WHERE status = 'succeeded'") == len(held)
    assert await lane_calls(ingress, "complete") == (2.0, 8.0)


async def test_one_report_that_the_database_cannot_store_stands_alone(
    seed: Seed, worker: FakeWorker, ingress: RunningIngress, database: ScratchDatabase
) -> None:
    held = await started(seed, worker, 4)
    database.execute(
        "CREATE FUNCTION tenure.refuse_seven() RETURNS trigger LANGUAGE plpgsql AS"
        " $$ BEGIN IF NEW.exit_code = 7 THEN RAISE data_exception; END IF; RETURN NEW; END $$;"
        "CREATE TRIGGER seven BEFORE UPDATE ON tenure.run_attempts"
        " FOR EACH ROW EXECUTE FUNCTION tenure.refuse_seven()"
    )
    answers: dict[int, Any] = {}

    async def complete(number: int, work: Work) -> None:
        try:
            answers[number] = await worker.complete(work, "failed", exit_code=7 if number == 2 else 1)
        except Refused as refusal:
            answers[number] = refusal.code

    async with database.session() as other:
        await other.execute("BEGIN; LOCK TABLE tenure.run_events IN SHARE MODE")
        async with trio.open_nursery() as nursery:
            nursery.start_soon(complete, 0, held[0])
            await database.wait_until_blocked()
            for number, work in list(enumerate(held))[1:]:
                nursery.start_soon(complete, number, work)
            await _all_arrived(ingress, 3)
            await other.execute("COMMIT")
    assert answers.pop(2) == "invalid_field"
    assert [answer["status"] for answer in answers.values()] == ["applied"] * 3


async def test_the_same_report_twice_at_once_is_one(
    seed: Seed, worker: FakeWorker, database: ScratchDatabase
) -> None:
    (work,) = await started(seed, worker, 1)
    statuses: list[str] = []

    async def complete() -> None:
        statuses.append((await worker.complete(work))["status"])

    async with trio.open_nursery() as nursery:
        for _ in range(5):
            nursery.start_soon(complete)
    assert set(statuses) <= {"applied", "replayed"}
    assert database.value("SELECT count(*) FROM tenure.run_events WHERE type = 'attempt.succeeded'") == 1


async def _all_arrived(ingress: RunningIngress, count: int) -> None:
    """Wait until so many completions wait in their lane."""
    waiting = f'tenure_ingress_lane_waiting{{lane="complete"}} {count:.1f}'
    probe = partial(ingress.probe, "/metrics")
    with trio.fail_after(4):
        while waiting not in (await probe()).text:  # noqa: ASYNC110 - asked over HTTP
            await trio.sleep(0.01)
