"""The tests of the database's traps can fail: each meets a statement that falls into its trap.

A statement that waited for a lock has read everything beside the locked row before the wait. Each trap below
was met on the way; the naive statement is the product's own function with that one care taken out of it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import asyncpg
import pytest
import trio

from tenure_control.repository.intent.intent import QUERIES as INTENT
from tests.database import test_interleaving as tests
from tests.database.worker import SqlWorker, open_worker, start
from tests.harness import ScratchDatabase, Session
from tests.harness.seed import Seed

Scenario = Callable[[ScratchDatabase, Seed], Awaitable[None]]


@dataclass(frozen=True)
class Naive:
    """A care taken out: in each of these functions a text that stands there once is replaced by another."""

    test: Scenario
    edits: Sequence[tuple[str, str, str]]

    def install(self, database: ScratchDatabase) -> None:
        """Replace the functions of one test database."""
        for function, careful, careless in self.edits:
            source = database.value("SELECT pg_get_functiondef($1::text::regproc)", function)
            assert source.count(careful) == 1, f"{function} has no single {careful!r}"
            database.execute(source.replace(careful, careless))


async def renew_during_a_replacement(database: ScratchDatabase, seed: Seed) -> None:
    """A renewal and a replacement at once; the renewal may wait for the lease, or hear that it is locked."""
    run, token = seed.run("report"), seed.credential("w1")
    async with open_worker(database, token) as older, open_worker(database, token, register=False) as newer:
        (fence,) = await older.claim()
        await start(older, fence)
        await newer.connection.execute("BEGIN")
        await newer.register(takeover=True)
        answered = trio.Event()
        verdicts: list[Any] = []

        async def renew() -> None:
            verdicts.extend(await older.renew(fence))
            answered.set()
            while verdicts[-1]["locked"]:
                verdicts.extend(await older.renew(fence))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(renew)
            await either(answered.wait, database.wait_until_blocked)
            await newer.connection.execute("COMMIT")
        assert verdicts[-1]["refusal"] == "session_fenced"
        assert seed.expiry(run) <= verdicts[-1]["server_time"]


async def either(*waits: Callable[[], Awaitable[object]]) -> None:
    """Return when the first of them does."""

    async def wait(until: Callable[[], Awaitable[object]]) -> None:
        await until()
        nursery.cancel_scope.cancel()

    async with trio.open_nursery() as nursery:
        for each in waits:
            nursery.start_soon(wait, each)


WAITING = (" FOR NO KEY UPDATE SKIP LOCKED", " FOR NO KEY UPDATE")

NAIVE = {
    "the session of a renewal is read before its lease is locked": Naive(
        renew_during_a_replacement,
        [
            ("ingress_api.renew_v1", *WAITING),
            (
                "ingress_api.renew_v1",
                "s.session IS NULL THEN 'session_fenced'",
                "false THEN 'session_fenced'",
            ),
            (
                "ingress_api.renew_v1",
                "WHERE workers[i.request] IS NOT NULL))",
                (
                    "WHERE workers[i.request] IS NOT NULL AND EXISTS (SELECT FROM tenure.worker_sessions s"
                    " WHERE s.session = p_sessions[i.request] AND s.status IN ('online', 'draining'))))"
                ),
            ),
        ],
    ),
    "a lease ends so long after a moment before the wait": Naive(
        tests.test_a_lease_is_as_long_as_promised_after_a_wait,
        [("tenure.claim_attempts", "    at := tenure.clock();\n", "")],
    ),
    "a limit is counted before the session is locked": Naive(
        tests.test_two_pulls_of_one_session_never_exceed_its_limit,
        [
            (
                "ingress_api.claim_offers_v1",
                "    SELECT * INTO s FROM tenure.worker_sessions x",
                (
                    "    SELECT count(*) INTO room FROM tenure.run_leases l"
                    " WHERE l.session = p_session AND l.state = 'leased';\n"
                    "    SELECT * INTO s FROM tenure.worker_sessions x"
                ),
            ),
            (
                "ingress_api.claim_offers_v1",
                (
                    "SELECT s.lease_limit - count(*) INTO room\n"
                    "    FROM tenure.run_leases l WHERE l.session = p_session AND l.state = 'leased';"
                ),
                "room := s.lease_limit - room;",
            ),
        ],
    ),
    "a claim trusts what it saw of an attempt before the wait": Naive(
        tests.test_a_claim_never_overwrites_a_lease_that_was_just_given,
        [
            (
                "tenure.wait_for_dispatchable",
                "a.dispatchable AND r.status = 'queued' AND r.cancel_requested_at IS NULL",
                "true",
            ),
            ("tenure.claim_attempts", "    WHERE l.state = 'released';", ";"),
        ],
    ),
    "a run is inserted or found in one statement": Naive(
        tests.test_the_same_key_admits_once_and_the_second_finds_the_first,
        [
            (
                "tenure.admit_run",
                "    IF project_state = 'active' AND task_state = 'active' THEN",
                (
                    "    SELECT * INTO existing FROM tenure.runs r\n"
                    "    WHERE r.project = p_project AND r.idempotency_key = p_idempotency_key;\n"
                    "    IF project_state = 'active' AND task_state = 'active' THEN"
                ),
            ),
            (
                "tenure.admit_run",
                (
                    "    IF NOT created THEN\n        SELECT * INTO existing FROM tenure.runs r\n"
                    "        WHERE r.project = p_project AND r.idempotency_key = p_idempotency_key;"
                ),
                "    IF NOT created THEN",
            ),
        ],
    ),
    "a batch waits for its locked row": Naive(
        partial(tests.test_one_locked_row_of_a_batch_keeps_nobody_else_waiting, call="renew"),
        [("ingress_api.renew_v1", *WAITING)],
    ),
    "a batch answers each row that it changed": Naive(
        tests.test_two_items_of_one_attempt_in_a_batch_have_one_effect,
        [
            (
                "ingress_api.renew_v1",
                "FROM judged j LEFT JOIN renewed n ON n.attempt = j.attempt",
                "FROM (SELECT DISTINCT ON (attempt) * FROM judged) j JOIN renewed n ON n.attempt = j.attempt",
            )
        ],
    ),
}


@pytest.mark.parametrize("trap", NAIVE)
async def test_the_naive_statement_falls_into_the_trap(
    database: ScratchDatabase, seed: Seed, trap: str
) -> None:
    NAIVE[trap].install(database)
    with pytest.raises((AssertionError, asyncpg.LockNotAvailableError)):
        await bare(NAIVE[trap].test(database, seed))


async def bare(scenario: Awaitable[None]) -> None:
    """Run it, and raise the one error that came out of its nurseries."""
    failure: BaseException | None = None
    try:
        await scenario
    except BaseExceptionGroup as group:
        failure = group
        while isinstance(failure, BaseExceptionGroup):
            failure = failure.exceptions[0]
    if failure is not None:
        raise failure


async def test_a_renewal_during_a_replacement_renews_nothing(database: ScratchDatabase, seed: Seed) -> None:
    await renew_during_a_replacement(database, seed)


CAREFUL = [INTENT["intend"], INTENT["copy_stop"]]
CARELESS = [
    (
        "WITH intended AS (UPDATE tenure.runs SET cancel_requested_at = $3, cancel_reason = $4"
        " WHERE run = $1 AND $2 <> '' RETURNING run)"
        " UPDATE tenure.run_leases l SET stop_reason = $4, stop_requested_at = $3"
        " FROM intended i JOIN tenure.run_attempts a ON a.run = i.run WHERE l.attempt = a.attempt"
    )
]


async def cancel(session: Session, run: Any, statements: Sequence[str]) -> None:
    """Write an intent and its copy, with one statement or with two."""
    now = await session.value("SELECT tenure.clock()")
    for statement in statements:
        arguments = (run, "operator:ops", now, "user") if "$4" in statement else (run, now, "user")
        await session.execute(statement, *arguments)


@pytest.mark.parametrize(("statements", "stop"), [(CAREFUL, "user"), (CARELESS, None)])
async def test_a_stop_finds_the_lease_that_was_being_claimed_when_it_is_copied_later(
    database: ScratchDatabase, seed: Seed, statements: Sequence[str], stop: str | None
) -> None:
    run = seed.run("report")
    async with open_worker(database, seed.credential("w1")) as worker, database.session() as operator:
        await claim_beside(database, worker, partial(cancel, operator, run.run, statements))
    assert seed.lease(run)["stop_reason"] == stop


async def claim_beside(
    database: ScratchDatabase, worker: SqlWorker, work: Callable[[], Awaitable[None]]
) -> None:
    """Claim, and commit once something else waits for the run."""
    await worker.connection.execute("BEGIN")
    await worker.claim()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(work)
        await database.wait_until_blocked()
        await worker.connection.execute("COMMIT")
