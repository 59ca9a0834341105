"""Which call is refused with which code: each that the table names happens, and there are no others."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final
from uuid import uuid4

import httpx
import pytest

from tenure_contracts.error import WORKER_CODES
from tenure_ingress.call import CALLS, Call
from tests.harness import ScratchDatabase
from tests.harness.fake_worker import FakeWorker, Work, fresh_offers, now, open_fake_worker, refused
from tests.harness.ingress import open_ingress
from tests.harness.seed import Seed, SeededRun


@dataclass
class World:
    """One worker with one claimed attempt, and what its next call says."""

    seed: Seed
    worker: FakeWorker
    run: SeededRun
    work: Work
    limit: int = 8
    sequence: int = 1


Step = Callable[[World], Awaitable[Any]]

CALLED: Final[dict[str, Step]] = {
    "register": lambda world: world.worker.register(limit=world.limit),
    "heartbeat": lambda world: world.worker.heartbeat(),
    "drain": lambda world: world.worker.drain(),
    "offline": lambda world: world.worker.offline(),
    "offers": lambda world: world.worker.pull(),
    "decline": lambda world: world.worker.decline(world.work),
    "starting": lambda world: world.worker.starting(world.work),
    "running": lambda world: world.worker.running(world.work),
    "start-failure": lambda world: world.worker.start_failure(world.work, message=world.work.started_at),
    "renew": lambda world: world.worker.renew(world.work),
    "complete": lambda world: world.worker.complete(world.work),
    "attest": lambda world: world.worker.attest(world.work, "stopped", world.sequence),
    "leases": lambda world: world.worker.leases(),
}


async def nothing(world: World) -> None:
    """The attempt is claimed: that is enough."""


async def of_another_session(world: World) -> None:
    world.worker.session = str(uuid4())


async def about_no_attempt(world: World) -> None:
    world.work = world.work.with_(attempt=str(uuid4()))


async def with_another_token(world: World) -> None:
    world.work = world.work.with_(token=fresh_offers()[0]["token"])


async def too_late(world: World) -> None:
    world.seed.database.shift(timedelta(minutes=2))


async def unwanted(world: World) -> None:
    world.seed.request_cancel(world.run)


async def lost(world: World) -> None:
    await world.worker.starting(world.work)
    world.seed.settle_lost(world.run)


async def started(world: World) -> None:
    await world.worker.start(world.work)


async def under_another_handle(world: World) -> None:
    await world.worker.start(world.work)
    world.work = world.work.with_(executor_handle="pid:1")


async def out_of_sequence(world: World) -> None:
    await world.worker.starting(world.work)
    world.sequence = 3


async def offline(world: World) -> None:
    await world.worker.offline()


async def another_process(world: World) -> None:
    world.worker = world.worker.another()


def said_otherwise(call: str) -> Step:
    """The same call was made before, with other content."""

    async def arrange(world: World) -> None:
        if call != "register":
            await world.worker.starting(world.work)
            await CALLED[call](world)
        world.limit += 1
        world.work = world.work.with_(started_at=now(), finished_at=now())

    return arrange


ARRANGED: Final[dict[str, Step]] = {
    "session_fenced": of_another_session,
    "session_conflict": another_process,
    "unknown_attempt": about_no_attempt,
    "lease_fenced": with_another_token,
    "lease_expired": too_late,
    "stop_requested": unwanted,
    "attempt_settled": lost,
    "lease_not_started": nothing,
    "already_started": started,
    "handle_conflict": under_another_handle,
    "attestation_conflict": out_of_sequence,
}

JUDGED: Final = {code for code, rule in WORKER_CODES.items() if rule.status in {404, 409}}
"""What only the database can find."""

FUNCTIONS: Final = {"offers": "claim_offers", "leases": "held_leases", "start-failure": "start_failure"}
"""The database function of a call, where it has another name."""

NO_REFUSALS: Final = {"lease_expired", "lease_fenced"}
"""Codes that are also a reason of release, and what an item of a list may be."""

SOURCES: Final = """
SELECT p.pronamespace::regnamespace || '.' || p.proname AS name,
       regexp_replace(p.prosrc, '--[^\n]*', '', 'g') AS source
FROM pg_proc p WHERE p.pronamespace::regnamespace::text IN ('tenure', 'ingress_api')
"""


def arranged(call: str, code: str) -> Step:
    """What has to be so for a call to be refused with this code."""
    if code == "content_conflict":
        return said_otherwise(call)
    return offline if (call, code) == ("register", "session_fenced") else ARRANGED[code]


async def claimed(seed: Seed, http: httpx.AsyncClient) -> World:
    """A new worker, registered, with one attempt that it claimed."""
    run = seed.run("report")
    worker = FakeWorker(http, seed.credential(f"worker-{run.run}"))
    await worker.register()
    (work,) = await worker.pull()
    return World(seed, worker, run, work)


@pytest.mark.parametrize("call", [call for call in CALLS if call.refusals], ids=lambda call: call.name)
async def test_a_call_is_refused_with_each_of_its_codes(
    database: ScratchDatabase, call: Call[Any, Any]
) -> None:
    seed = Seed(database)
    seed.task("report")
    async with open_ingress(database) as ingress, open_fake_worker(ingress.url, "") as nobody:
        for code in call.refusals:
            world = await claimed(seed, nobody.http)
            await arranged(call.name, code)(world)
            with refused(code):
                await CALLED[call.name](world)


def test_the_database_refuses_with_no_other_code(database: ScratchDatabase) -> None:
    sources = {row["name"]: row["source"] for row in database.rows(SOURCES)}
    for call in CALLS:
        function = f"ingress_api.{FUNCTIONS.get(call.name, call.name)}_v1"
        found = words_below(function, sources) & JUDGED
        assert set(call.refusals) <= found, call.name
        assert found - {*call.refusals} <= NO_REFUSALS, call.name


def words_below(function: str, sources: dict[str, str]) -> set[str]:
    """Every quoted word in a function and in those that it calls."""
    reached, below = set[str](), [function]
    while below:
        name = below.pop()
        if name in sources and name not in reached:
            reached.add(name)
            below += re.findall(r"\b(tenure\.\w+)\(", sources[name])
    return {word for name in reached for word in re.findall(r"'(\w+)'", sources[name])}
