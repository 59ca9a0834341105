"""One item at which the database fails: it gets an error of its own, and all others of its batch succeed.

The data that makes a function raise although the request is flawless is a number that can go no further: the
version of a lease that was renewed two thousand million times.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, Final

import pytest
import trio

from tests.harness import ScratchDatabase
from tests.harness.fake_worker import FakeWorker, Refused, Work, item, open_fake_worker
from tests.harness.ingress import RunningIngress
from tests.harness.seed import Seed
from tests.protocol.facts import check_events
from tests.protocol.site import wait_until_sent

LEASES: Final = 256
ITEMS: Final = 64
PULLED: Final = 16
LAST: Final = 2**31 - 1


@pytest.fixture
async def holder(ingress: RunningIngress, seed: Seed) -> AsyncIterator[FakeWorker]:
    """A worker that may hold many leases."""
    async with open_fake_worker(ingress.url, seed.credential("many")) as worker:
        await worker.register(limit=LEASES)
        yield worker


async def hold(seed: Seed, worker: FakeWorker, count: int) -> list[Work]:
    """So many new leases."""
    seed.runs("report", count)
    return [work for _ in range(count // PULLED) for work in await worker.pull(PULLED)]


def spoil(database: ScratchDatabase, work: Work) -> None:
    """No version can follow on this lease."""
    database.rows("UPDATE tenure.run_leases SET version = $2 WHERE attempt = $1", work.attempt, LAST)


async def test_a_request_with_256_leases(
    holder: FakeWorker, seed: Seed, database: ScratchDatabase, ingress: RunningIngress
) -> None:
    held = await hold(seed, holder, LEASES)
    guilty = held[77]
    spoil(database, guilty)
    answer = await holder.renew(*held)
    verdicts = {lease["attempt"]: (lease["status"], lease["disposition"]) for lease in answer["leases"]}
    assert verdicts.pop(guilty.attempt) == ("retry", "retry")
    assert Counter(verdicts.values()) == {("renewed", None): LEASES - 1}
    renewed = database.value("SELECT count(*) FROM tenure.run_leases WHERE version = 2")
    assert renewed == LEASES - 1, "each once, although the request was taken apart"
    assert [entry["attempt"] for entry in ingress.log if entry["event"] == "lease_failed"] == [guilty.attempt]
    with pytest.raises(Refused, match="invalid_field"):
        await holder.renew(guilty)


Act = Callable[[FakeWorker, Work], Awaitable[Any]]

BATCHES: Final[dict[str, Act]] = {
    "renew": lambda worker, work: worker.renew(work),
    "complete": lambda worker, work: worker.complete(work),
}


@pytest.mark.parametrize("name", BATCHES)
async def test_64_requests_that_travel_together(
    holder: FakeWorker, seed: Seed, database: ScratchDatabase, name: str
) -> None:
    held = await hold(seed, holder, ITEMS)
    await holder.exchange(*(item("starting", work) for work in held))
    guilty = held[33]
    spoil(database, guilty)
    verdicts: dict[str, str] = {}

    async def act(work: Work) -> None:
        try:
            await BATCHES[name](holder, work)
        except Refused as refusal:
            verdicts[work.attempt] = refusal.code

    async with database.session() as gate, trio.open_nursery() as nursery:
        await gate.execute("BEGIN; LOCK TABLE tenure.run_leases IN EXCLUSIVE MODE")
        since = await gate.value("SELECT clock_timestamp()")
        for work in held:
            nursery.start_soon(act, work)
        # One call waits for the gate; whatever comes meanwhile goes with the next.
        await wait_until_sent(database, [name], since, 1)
        await gate.execute("COMMIT")
    assert verdicts == {guilty.attempt: "invalid_field"}
    done = {"renew": "version = 2", "complete": "state = 'completed'"}[name]
    assert database.value(f"SELECT count(*) FROM tenure.run_leases WHERE {done}") == ITEMS - 1
    check_events(database)


async def test_one_exchange_with_64_completions(
    holder: FakeWorker, seed: Seed, database: ScratchDatabase
) -> None:
    held = await hold(seed, holder, ITEMS)
    await holder.exchange(*(item("starting", work) for work in held))
    spoil(database, held[5])
    answers = await holder.exchange(*(item("complete", work, outcome="succeeded") for work in held))
    assert answers.pop(5)["problem"]["code"] == "invalid_field"
    assert {answer["body"]["status"] for answer in answers} == {"applied"}
    check_events(database)
