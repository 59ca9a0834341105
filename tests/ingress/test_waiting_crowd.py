"""Ten thousand pulls that wait: what they cost a real database, at rest and when one attempt comes."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, nullcontext
from dataclasses import replace
from functools import partial
from typing import Any, Final, cast
from uuid import uuid4

import trio

from tenure_contracts.identity import encode_secret, parse_worker_token
from tenure_contracts.wire.offer import Offer, Pull, Pulled
from tenure_contracts.wire.session import Register
from tenure_ingress.lanes import open_lanes
from tenure_ingress.operation import offer, session
from tenure_ingress.operation.service import Service
from tenure_ingress.repository import call
from tenure_ingress.repository.caller import Caller
from tenure_ingress.waiting import Room, keep_looking
from tenure_postgres.database import Database
from tests.harness import ScratchDatabase
from tests.harness.ingress import ingress_settings
from tests.harness.seed import Seed

MANY: Final = 10_000


class Counting:
    """The database of the test. It counts what is sent; while there is a `replay`, that answers every claim.

    So a crowd gathers without ten thousand real claims, which are not what is measured.
    """

    def __init__(self, database: Database) -> None:
        self.claims = 0
        self.looks = 0
        self.replay: Sequence[Any] | None = None
        self._database = database

    async def call(self, unit: Any) -> Any:
        if self.replay is not None:
            return self.replay
        self.claims += 1
        return await self._database.call(unit)

    async def fetch(self, unit: Any, *, deadline_s: float) -> Any:
        self.looks += 1
        return await self._database.fetch(unit, deadline_s=deadline_s)


@asynccontextmanager
async def open_service(database: ScratchDatabase) -> AsyncIterator[tuple[Service, Counting]]:
    """The operations over a database, without HTTP."""
    settings = ingress_settings(database)
    async with open_lanes(settings) as lanes:
        counting = Counting(lanes.database)
        counted = replace(lanes, database=cast("Database", counting))
        service = Service(settings, counted, Room(), lambda: None, lambda: None)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(keep_looking, service.room, partial(offer.look, service))
            yield service, counting
            nursery.cancel_scope.cancel()


def one_pull() -> Pull:
    """A pull of one offer that waits as long as a pull may."""
    offers = (Offer(offer=uuid4(), token=encode_secret(secrets.token_bytes(32))),)
    return Pull(request_id=uuid4(), generation=1, offers=offers, wait_s=30)


async def registered(service: Service, seed: Seed) -> Caller:
    """A session that may hold as much as there is."""
    caller = Caller(parse_worker_token(seed.credential("w1")), uuid4(), 1)
    message = Register(request_id=uuid4(), labels={}, executors=("command",), limit=1024)
    await session.register(service, caller.token, caller.session, message)
    return caller


async def test_ten_thousand_pulls_are_one_question_a_second_and_one_claim(
    seed: Seed, database: ScratchDatabase
) -> None:
    answers: list[Pulled] = []

    async def pull() -> None:
        answers.append(await offer.pull_or_wait(service, caller, one_pull(), nullcontext))

    async with open_service(database) as (service, counting):
        caller = await registered(service, seed)
        counting.replay = await counting.call(call.claim_offers(caller, one_pull(), 30.0))
        async with trio.open_nursery() as nursery:
            for _ in range(MANY):
                nursery.start_soon(pull)
            with trio.fail_after(20):
                while len(service.room) < MANY:  # noqa: ASYNC110 - nothing tells that a pull entered
                    await trio.sleep(0.01)
            counting.replay = None
            counting.claims = counting.looks = 0
            await trio.sleep(2.2)
            assert (counting.claims, counting.looks <= 4) == (0, True)

            counting.looks = 0
            run = seed.run("report")
            service.room.tell()
            with trio.fail_after(5):
                while counting.looks < 3:  # noqa: ASYNC110 - the last of them finds nothing more to do
                    await trio.sleep(0.01)
            assert counting.claims == 1
            assert [len(answer.offered) for answer in answers] == [1]
            assert seed.status(run) == ("dispatching", "claimed")
            nursery.cancel_scope.cancel()
        assert len(service.room) == 0
