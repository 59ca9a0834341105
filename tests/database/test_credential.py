"""Credentials in the database: the first use is noted once; the audit takes little without a proof."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
import trio

from tenure_contracts.identity import Token, parse_worker_token
from tests.database.worker import SqlWorker, open_worker, start
from tests.harness import ScratchDatabase, Session
from tests.harness.seed import Seed

Call = Callable[[SqlWorker, Any], Awaitable[Any]]

AUTHENTICATE = "SELECT refusal FROM ingress_api.authenticate_v1($1, $2)"
RECORD = "SELECT recorded FROM ingress_api.record_refusals_v1($1, $2)"

CALLS: dict[str, Call] = {
    "register": lambda worker, fence: worker.register(),
    "heartbeat": lambda worker, fence: worker.heartbeat(),
    "drain": lambda worker, fence: worker.drain(),
    "offline": lambda worker, fence: worker.offline(),
    "pull": lambda worker, fence: worker.pull(),
    "decline": lambda worker, fence: worker.decline(fence),
    "starting": lambda worker, fence: worker.starting(fence),
    "running": lambda worker, fence: worker.running(fence),
    "complete": lambda worker, fence: worker.complete(fence),
    "renew": lambda worker, fence: worker.renew(fence),
    "attest": lambda worker, fence: worker.attest(fence, "running"),
}


def uses(database: ScratchDatabase) -> list[Any]:
    """The audit rows about first uses, in their order."""
    return list(
        database.rows(
            "SELECT actor, object, request_id, detail ->> 'version' AS version"
            " FROM tenure.security_audit_events WHERE action = 'credential.first_use' ORDER BY event"
        )
    )


def first_used(database: ScratchDatabase, token: Token) -> Any:
    return database.value(
        "SELECT first_used_at FROM tenure.worker_credentials WHERE digest = $1", token.secret_digest
    )


async def ask(session: Session, token: Token) -> Any:
    return await session.value(AUTHENTICATE, token.id, token.secret_digest)


@pytest.mark.parametrize("name", CALLS)
async def test_whatever_comes_first_notes_the_use_once(
    database: ScratchDatabase, seed: Seed, name: str
) -> None:
    seed.run("report")
    async with open_worker(database, seed.credential("w1")) as worker:
        (fence,) = await worker.claim()
        if name not in ("starting", "decline"):
            await start(worker, fence)
        worker.token = parse_worker_token(seed.credential("w1", credential=worker.token.id))
        assert first_used(database, worker.token) is None
        await CALLS[name](worker, fence)
        noted = first_used(database, worker.token)
        assert noted is not None
        database.shift(timedelta(minutes=1))
        await CALLS[name](worker, fence)
    assert first_used(database, worker.token) == noted
    about = ("worker:w1", f"worker:w1/credential:{worker.token.id}", None)
    assert [tuple(row) for row in uses(database)] == [(*about, "1"), (*about, "2")]


async def test_a_use_that_is_refused_is_none(database: ScratchDatabase, seed: Seed) -> None:
    token = parse_worker_token(seed.credential("w1"))
    async with database.session("tenure_ingress") as session:
        for wrong in (
            Token(token.id, bytes(32)),
            Token("unknown0", token.secret_digest),
        ):
            assert await ask(session, wrong) == "credential_refused"
        database.execute("UPDATE tenure.worker_credentials SET not_before = not_before + interval '1 hour'")
        assert await ask(session, token) == "credential_refused"
        assert await session.value(AUTHENTICATE, None, None) == "credential_refused"
    assert (uses(database), first_used(database, token)) == ([], None)


async def test_many_first_uses_at_once_are_one(database: ScratchDatabase, seed: Seed) -> None:
    token = parse_worker_token(seed.credential("w1"))
    async with database.open("tenure_ingress", size=8) as opened, trio.open_nursery() as nursery:

        async def use() -> None:
            async def unit(connection: Any) -> Any:
                return await connection.fetchval(AUTHENTICATE, token.id, token.secret_digest)

            assert await opened.call(unit) is None

        for _ in range(24):
            nursery.start_soon(use)
    assert len(uses(database)) == 1


async def test_nobody_waits_for_who_notes_the_use(database: ScratchDatabase, seed: Seed) -> None:
    token = parse_worker_token(seed.credential("w1"))
    async with database.session("tenure_ingress") as one, database.session("tenure_ingress") as two:
        await one.execute("BEGIN")
        assert await ask(one, token) is None
        await two.execute("SET lock_timeout = 1")
        assert await ask(two, token) is None
        assert uses(database) == []
        await one.execute("ROLLBACK")
        assert uses(database) == []
        assert await ask(two, token) is None
    assert len(uses(database)) == 1


async def test_the_end_of_a_version_brings_no_older_one_back(database: ScratchDatabase, seed: Seed) -> None:
    older = parse_worker_token(seed.credential("w1"))
    newer = parse_worker_token(seed.credential("w1", credential=older.id))
    async with database.session("tenure_ingress") as session:
        assert [await ask(session, each) for each in (older, newer)] == ["credential_refused", None]
        database.execute("UPDATE tenure.worker_credentials SET state = 'revoked' WHERE version = 2")
        assert [await ask(session, each) for each in (older, newer)] == ["credential_refused"] * 2


async def test_the_audit_takes_small_objects_from_one_kind_of_actor(database: ScratchDatabase) -> None:
    process = uuid4()
    async with database.session("tenure_ingress") as session:
        for report in (None, "[]", '"text"', "null", '{"a": "' + "x" * 4096 + '"}'):
            assert await session.value(RECORD, process, report) is False
        assert await session.value(RECORD, None, "{}") is False
        forged = '{"actor": "operator:root", "action": "revoke", "request_id": "x"}'
        assert await session.value(RECORD, process, forged) is True
    (row,) = database.rows("SELECT * FROM tenure.security_audit_events")
    assert (row["actor"], row["action"], row["object"], row["request_id"]) == (
        "ingress",
        "authentication.refusals",
        f"process:{process}",
        None,
    )


async def test_the_audit_takes_few_of_them(database: ScratchDatabase) -> None:
    many = "SELECT count(*) FILTER (WHERE r.recorded) FROM generate_series(1, 200) i,"
    many += " LATERAL ingress_api.record_refusals_v1(gen_random_uuid(), jsonb_build_object('i', i)) r"
    async with database.session("tenure_ingress") as session:
        assert await session.value(many) == 120
        assert await session.value(RECORD, uuid4(), "{}") is False
        database.shift(timedelta(minutes=2))
        assert await session.value(RECORD, uuid4(), "{}") is True
