"""Every call of the protocol and of the operators against every other and against both cadences, at random.

Three ingresses, two controls, six workers with two connections each, time that jumps. Nobody is ever the
victim of a deadlock, not even one whom a retry would save, and what the rows say of each other holds.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final
from uuid import uuid4

import pytest
import trio

from tests.attack.test_storm import BROKEN
from tests.harness import ScratchDatabase
from tests.harness.control import open_control
from tests.harness.fake_worker import FakeWorker, Refused, Work, fresh_offers, item, open_fake_worker, work_of
from tests.harness.ingress import open_ingress
from tests.harness.operator import OperatorApi, open_operator
from tests.harness.seed import Seed

LONGER_THAN_A_LEASE: Final = timedelta(seconds=31)
RETRY: Final = {
    "max_attempts": 3,
    "on": ["failed", "lost"],
    "safety": "idempotent",
    "backoff": {"base": "1s"},
}


@dataclass
class Shared:
    """What the two connections of one worker know together."""

    session: str = field(default_factory=lambda: str(uuid4()))
    generation: int = 1
    works: list[Work] = field(default_factory=list)


class Hand:
    """One connection of a worker, which does whatever comes to its mind."""

    def __init__(self, worker: FakeWorker, shared: Shared, chance: random.Random, seen: Counter[str]) -> None:
        self.worker = worker
        self.shared = shared
        self.chance = chance
        self.seen = seen
        self.fenced = True

    async def act(self) -> None:
        """One call, chosen at random; what was answered is counted."""
        self.worker.session, self.worker.generation = self.shared.session, self.shared.generation
        calls = [self.pull, self.pull, self.begin_anew, self.worker.heartbeat, self.worker.leases]
        if self.shared.works:
            calls += [self.about_work] * 12
        call = self.begin_anew if self.fenced else self.chance.choice(calls)
        try:
            await call()
        except Refused as refused:
            self.fenced = refused.code == "session_fenced"
            self.seen[refused.code] += 1
        else:
            self.fenced = False
            self.seen["answered"] += 1

    async def pull(self) -> None:
        offers = fresh_offers(self.chance.randrange(1, 5))
        self.shared.works += work_of(await self.worker.offers(offers), offers)
        del self.shared.works[:-12]

    async def begin_anew(self) -> None:
        """As a process that was restarted: sometimes it drained or said goodbye, sometimes it takes over."""
        if self.chance.random() < 0.3:
            await self.chance.choice([self.worker.drain, self.worker.offline])()
        self.worker.session = str(uuid4())
        registered = await self.worker.register(limit=6, takeover=True)
        self.shared.session, self.shared.generation = self.worker.session, registered["generation"]

    async def about_work(self) -> None:
        worker, chance = self.worker, self.chance
        works = chance.sample(self.shared.works, min(len(self.shared.works), 4))
        one = works[0]
        outcome = chance.choice(["succeeded", "failed"])
        calls: list[Any] = [
            lambda: worker.renew(*works),
            lambda: worker.start(one),
            lambda: worker.starting(one),
            lambda: worker.running(one),
            lambda: worker.start_failure(one),
            lambda: worker.complete(one, outcome),
            lambda: worker.decline(*works),
            lambda: worker.attest(
                one, chance.choice(["running", "running", "stopped"]), chance.randrange(1, 3)
            ),
            lambda: worker.exchange(
                item("renew", *works),
                *(item("starting", work) for work in works),
                item("offers", offers=fresh_offers(2)),
            ),
        ]
        await chance.choice(calls)()


class Operator:
    """An operator who changes things all the time."""

    def __init__(self, api: OperatorApi, chance: random.Random, seen: Counter[str]) -> None:
        self.api = api
        self.chance = chance
        self.seen = seen
        self.runs: list[str] = []

    async def act(self) -> None:
        """One call, chosen at random."""
        shop, ids = "/v1/projects/shop", {"request_id": str(uuid4())}
        match self.chance.randrange(8 if self.runs else 4):
            case 0 | 1 | 2:
                asked = [{"task": "safe", "idempotency_key": str(uuid4())} for _ in range(4)]
                answer = await self.api.owner.post(f"{shop}/runs", {"runs": asked})
                self.runs += [run["run"] for run in answer.json.get("runs", [])]
                del self.runs[:-20]
            case 3:
                priority = self.chance.randrange(10)
                task = {"command": ["true"], "retry": RETRY, "priority": priority}
                answer = await self.api.owner.put(f"{shop}/tasks/safe", task)
            case 4 | 5:
                answer = await self.api.owner.post(f"{shop}/runs/{self.chance.choice(self.runs)}/cancel", ids)
            case 6:
                answer = await self.api.owner.put(shop, {"weight": self.chance.randrange(1, 9)})
            case _:
                answer = await self.api.owner.post("/v1/workers/w0/credentials", ids)
        self.seen["answered" if answer.status < 300 else answer.code] += 1


async def play(
    database: ScratchDatabase, seed: Seed, luck: int, going_on: Callable[[int], bool]
) -> Counter[str]:
    """Everything at once, while `going_on` says so of the calls that one has made; the answers by code."""
    seen: Counter[str] = Counter()
    seed.task("safe", retry=RETRY)
    seed.runs("safe", 60)
    async with AsyncExitStack() as stack:
        for _ in range(2):
            await stack.enter_async_context(
                open_control(database, interval_s=0.1, cancellation_interval_s=0.1)
            )
        urls = [(await stack.enter_async_context(open_ingress(database))).url for _ in range(3)]
        api = await stack.enter_async_context(open_operator(database))
        actors: list[Hand | Operator] = [Operator(api, random.Random(luck), seen)]
        for number in range(6):
            token, shared = seed.credential(f"w{number}"), Shared()
            for which in range(2):
                worker = await stack.enter_async_context(open_fake_worker(urls[(number + which) % 3], token))
                actors.append(Hand(worker, shared, random.Random(luck + len(actors)), seen))
        async with trio.open_nursery() as jumps:
            jumps.start_soon(let_time_jump, database)
            async with trio.open_nursery() as acting:
                for actor in actors:
                    acting.start_soon(act_on, actor, going_on)
            jumps.cancel_scope.cancel()
    return seen


async def act_on(actor: Hand | Operator, going_on: Callable[[int], bool]) -> None:
    """Act again and again."""
    acts = 0
    while going_on(acts):
        await actor.act()
        acts += 1


async def let_time_jump(database: ScratchDatabase) -> None:
    """Let every lease run out now and then, so that control takes part."""
    while True:
        await trio.sleep(1)
        database.shift(LONGER_THAN_A_LEASE)


async def check(database: ScratchDatabase, luck: int, going_on: Callable[[int], bool]) -> None:
    """Nothing went wrong, and enough went well."""
    seen = await play(database, Seed(database), luck, going_on)
    told = f"luck {luck}: {dict(seen)}"
    assert database.value("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()") == 0, (
        told
    )
    assert database.rows(BROKEN) == [], told
    assert not seen.keys() & {"internal_error", "database_unavailable", "overloaded"}, told
    assert seen["answered"] > sum(seen.values()) / 3, told
    print(told)


async def test_nothing_deadlocks_with_anything(database: ScratchDatabase) -> None:
    await check(database, 1, lambda acts: acts < 25)


@pytest.mark.slow
async def test_nothing_deadlocks_in_a_minute(database: ScratchDatabase) -> None:
    end = trio.current_time() + 60
    await check(database, random.randrange(10**6), lambda _: trio.current_time() < end)
