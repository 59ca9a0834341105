"""The role of the ingress, with psql instead of the ingress: without a proof no function does anything.

The ingress never sends NULL, nor a number of no request. Somebody who has its password can, and NULL compared
with a proof must not be taken for a proof.
"""

from __future__ import annotations

import secrets
from typing import Any
from uuid import uuid4

import asyncpg
import pytest

from tenure_contracts.wire.lease import Fence
from tenure_ingress.repository import call
from tenure_ingress.repository.caller import fence_columns
from tests.database.worker import SqlWorker, open_worker, start
from tests.harness import ScratchDatabase
from tests.harness.seed import Seed, SeededRun

FENCE = ["attempt", "offer", "token", "lease generation", "lease version"]

# The arrays after the fence, for one item each.
BATCHED = {
    "starting_v1": "ARRAY[$10::bytea]",
    "running_v1": "ARRAY[$10::bytea], ARRAY['pid:1'], ARRAY[now()]",
    "start_failure_v1": "ARRAY[$10::bytea], ARRAY['not_found'], ARRAY['']",
    "complete_v1": "ARRAY[$10::bytea], ARRAY['succeeded'], ARRAY[0], ARRAY[now()], ARRAY[now()],"
    " ARRAY[NULL], ARRAY[NULL], ARRAY[NULL], ARRAY[NULL], ARRAY[NULL], ARRAY[NULL]",
}

RENEW = "SELECT * FROM ingress_api.renew_v1($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, 3600)"


def facts(database: ScratchDatabase, run: SeededRun) -> Any:
    """Everything that a call could have changed."""
    return database.rows(
        "SELECT r, a, l FROM tenure.runs r JOIN tenure.run_attempts a USING (run)"
        " JOIN tenure.run_leases l USING (attempt) WHERE r.run = $1",
        run.run,
    )


def call_of(function: str) -> str:
    """One call with one item."""
    arrays = (
        "ARRAY[$1], ARRAY[$2::bytea], ARRAY[$3::uuid], ARRAY[$4::int], ARRAY[$5::uuid], ARRAY[$6::uuid],"
        " ARRAY[$7::bytea], ARRAY[$8::int], ARRAY[$9::int]"
    )
    return f"SELECT * FROM ingress_api.{function}({arrays}, {BATCHED[function]})"


def without(fence: Fence, part: int) -> list[Any]:
    """The fence's parameters, one of them left out."""
    return [None if at == part else value for at, value in enumerate(fence_columns(fence))]


@pytest.mark.parametrize("part", range(len(FENCE)), ids=FENCE)
@pytest.mark.parametrize("function", BATCHED)
async def test_a_part_of_the_fence_that_is_left_out_is_no_proof(
    database: ScratchDatabase, seed: Seed, function: str, part: int
) -> None:
    run = seed.run("report")
    async with open_worker(database, seed.credential("w1")) as worker:
        (fence,) = await worker.claim()
        if function != "starting_v1":
            await worker.starting(fence)
        before = facts(database, run)
        content = secrets.token_bytes(32)
        (row,) = await worker.connection.rows(
            call_of(function), *worker.caller.columns, *without(fence, part), content
        )
    assert row["refusal"] in ("lease_fenced", "unknown_attempt", "invalid_field")
    assert row["status"] is None
    assert row["attempt_status"] is None
    assert facts(database, run) == before


@pytest.mark.parametrize("part", range(1, len(FENCE)), ids=FENCE[1:])
async def test_nor_does_it_renew_or_give_back(database: ScratchDatabase, seed: Seed, part: int) -> None:
    run = seed.run("report")
    async with open_worker(database, seed.credential("w1")) as worker:
        (fence,) = await worker.claim()
        before = facts(database, run)
        columns = [[value] for value in without(fence, part)]
        callers = [[value] for value in worker.caller.columns]
        (renewed,) = await worker.connection.rows(RENEW, *callers, [1], *columns)
        _, declined = await worker.connection.rows(
            "SELECT * FROM ingress_api.decline_v1($1, $2, $3, $4, $5, $6, $7, $8, $9, 'declined')",
            *worker.caller.columns,
            *columns,
        )
    assert (renewed["status"], renewed["lease_version"], renewed["expires_at"]) == ("fenced", None, None)
    assert declined["status"] == "fenced"
    assert facts(database, run) == before


@pytest.mark.parametrize("part", range(len(FENCE) - 1), ids=FENCE[:-1])
async def test_nor_does_it_attest(database: ScratchDatabase, seed: Seed, part: int) -> None:
    run = seed.run("report")
    async with open_worker(database, seed.credential("w1")) as worker:
        (fence,) = await worker.claim()
        await start(worker, fence)
        before = facts(database, run)
        (row,) = await worker.connection.rows(
            "SELECT * FROM ingress_api.attest_v1($1, $2, $3, gen_random_uuid(), $4, $5, $6, $7, 1, 'running',"
            " now(), 'process', NULL, NULL, $8, 3600)",
            *worker.caller.columns[:3],
            *without(fence, part)[:-1],
            secrets.token_bytes(32),
        )
    assert row["refusal"] in ("lease_fenced", "unknown_attempt")
    assert row["status"] is row["lease_version"] is row["last_sequence"] is None
    assert facts(database, run) == before


async def test_a_renewal_of_no_request_tells_and_does_nothing(database: ScratchDatabase, seed: Seed) -> None:
    run = seed.run("report")
    async with (
        open_worker(database, seed.credential("w1")) as holder,
        open_worker(database, seed.credential("w2")) as thief,
    ):
        (fence,) = await holder.claim()
        before = facts(database, run)
        nothing: list[list[Any]] = [[], [], [], []]
        own = [[value] for value in thief.caller.columns]
        for callers, requests in ((nothing, [1]), (nothing, [None]), (own, [1, 2]), (own, [1, None])):
            fences = [[fence.attempt] * len(requests), *[[None] * len(requests)] * 4]
            for row in await thief.connection.rows(RENEW, *callers, requests, *fences):
                assert (row["status"], row["locked"]) == ("fenced", False)
                assert row["lease_version"] is row["expires_at"] is None
    assert facts(database, run) == before


@pytest.mark.parametrize("name", ["heartbeat", "drain", "offline"])
async def test_a_session_is_proven_whole(database: ScratchDatabase, seed: Seed, name: str) -> None:
    async with open_worker(database, seed.credential("w1")) as worker:
        credential, secret, session, generation = worker.caller.columns
        sql = call.QUERIES[name]
        for caller, refusal in (
            ((None, secret, session, generation), "credential_refused"),
            ((credential, None, session, generation), "credential_refused"),
            ((credential, secret, None, generation), "session_fenced"),
            ((credential, secret, session, None), "session_fenced"),
        ):
            items = [[column] for column in caller] if name == "heartbeat" else caller
            (row,) = await worker.connection.rows(sql, *items)
            assert (row["refusal"], row["status"]) == (refusal, None)
        assert (await worker.heartbeat())["status"] == "online"


async def test_nobody_waits_for_the_session_of_another_worker(database: ScratchDatabase, seed: Seed) -> None:
    async with (
        open_worker(database, seed.credential("w1")) as one,
        open_worker(database, seed.credential("w2")) as two,
    ):
        await one.connection.execute("BEGIN")
        await one.heartbeat()
        two.session = one.session
        await two.connection.execute("SET lock_timeout = 1")
        assert (await two.register())["refusal"] == "session_fenced"
        assert (await two.heartbeat())["refusal"] == "session_fenced"
        assert (await two.offline())["refusal"] == "session_fenced"
        assert (await two.pull())[0]["refusal"] == "session_fenced"
        assert (await two.decline(_nothing()))[0]["refusal"] == "session_fenced"


async def test_arrays_of_another_shape_are_no_way_in(database: ScratchDatabase, seed: Seed) -> None:
    run = seed.run("report")
    async with (
        open_worker(database, seed.credential("w1")) as holder,
        open_worker(database, seed.credential("w2")) as thief,
    ):
        (fence,) = await holder.claim()
        before = facts(database, run)
        await _shapes(thief, fence)
    assert facts(database, run) == before


async def _shapes(thief: SqlWorker, fence: Fence) -> None:
    """The thief's own credential at every position but the one that counts."""
    credential, secret, session, generation = thief.caller.columns
    for bounds in ("[0:0]", "[2:2]", "[-5:-5]", "[1:1][1:1]"):
        depth = bounds.count("[")
        shape = f"{bounds}={'{' * depth}{{}}{'}' * depth}".format
        try:
            rows = await thief.connection.rows(
                "SELECT * FROM ingress_api.starting_v1($1::text::text[], $2::text::bytea[], $3::text::uuid[],"
                " $4::text::int[], ARRAY[$5::uuid], ARRAY[$6::uuid], ARRAY[$7::bytea], ARRAY[$8::int],"
                " ARRAY[$9::int], ARRAY[''::bytea])",
                shape(credential),
                shape(f'"\\\\x{secret.hex()}"'),
                shape(session),
                shape(generation),
                *fence_columns(fence),
            )
        except asyncpg.DataError:
            continue
        assert all(row["refusal"] in ("credential_refused", "session_fenced", "lease_fenced") for row in rows)


def _nothing() -> Fence:
    token = "A" * 43
    return Fence(attempt=uuid4(), offer=uuid4(), token=token, lease_generation=1, lease_version=1)
