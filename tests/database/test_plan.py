"""The hot statements reach what they want by index, in the functions themselves and without statistics.

Counted by the server: how often, in one transaction, an index and a whole table were read. The tables are
large enough for that to matter, and were never analysed.
"""

from __future__ import annotations

import pytest

from tenure.embedded import EmbeddedServer
from tenure_ingress.repository import call
from tests.database.worker import open_worker
from tests.harness import ScratchDatabase, Session
from tests.harness.fixture import MakeDatabase
from tests.harness.seed import Seed
from tests.harness.template import prepare_template

RUNS = 8_000

# Finished history, and then a queue: written directly, because admitting them one by one takes seconds.
# OFFSET keeps a row from being made anew for each of its columns.
HISTORY = """
SET session_replication_role = replica;
INSERT INTO tenure.runs SELECT (r).* FROM (
    SELECT jsonb_populate_record(r, jsonb_build_object(
        'run', gen_random_uuid(), 'idempotency_key', 'many' || i,
        'status', CASE WHEN i % 3 > 0 THEN 'succeeded' ELSE 'queued' END,
        'finished_at', CASE WHEN i % 3 > 0 THEN now() END)) AS r
    FROM tenure.runs r, generate_series(1, {count}) i OFFSET 0) many;
INSERT INTO tenure.run_attempts SELECT (a).* FROM (
    SELECT jsonb_populate_record(a, jsonb_build_object(
        'attempt', r.run, 'run', r.run,
        'status', CASE WHEN r.status = 'queued' THEN 'claimed' ELSE r.status END,
        'dispatchable', r.status = 'queued', 'barrier_at', r.finished_at, 'ended_at', r.finished_at)) AS a
    FROM tenure.run_attempts a, tenure.runs r WHERE r.run <> a.run OFFSET 0) many;
INSERT INTO tenure.run_leases (attempt, state, generation, version, worker, session, offer, token_digest,
                               acquired_at, renewed_at, expires_at)
SELECT attempt, 'completed', 1, 2, 'w0', gen_random_uuid(), gen_random_uuid(), sha256(''), now(), now(), now()
FROM tenure.run_attempts WHERE ended_at IS NOT NULL;
INSERT INTO tenure.spent_offers SELECT offer, attempt, 1, worker, token_digest FROM tenure.run_leases;
SET session_replication_role = origin;
"""

TABLES = ("runs", "run_attempts", "run_leases", "spent_offers")

READS = """
SELECT c.relname AS name, pg_stat_get_xact_numscans(c.oid) AS reads FROM pg_class c
WHERE c.relnamespace = 'tenure'::regnamespace AND pg_stat_get_xact_numscans(c.oid) > 0
"""


class Reads:
    """What one session reads from now on, in one transaction."""

    def __init__(self, session: Session, before: dict[str, int]) -> None:
        self._session = session
        self._before = before

    async def __call__(self) -> dict[str, int]:
        """Which indexes and whole tables were read, and how often."""
        now = {row["name"]: row["reads"] for row in await self._session.rows(READS)}
        since = {name: count - self._before.get(name, 0) for name, count in now.items()}
        return {name: count for name, count in since.items() if count}


async def begin(session: Session) -> Reads:
    """Begin a transaction whose reads are counted. The server counts on until it has published the sum."""
    await session.execute("BEGIN")
    return Reads(session, {row["name"]: row["reads"] for row in await session.rows(READS)})


def crowd(server: EmbeddedServer, database: str) -> None:
    """A template with thousands of finished runs and a long queue."""
    prepare_template(server, database)
    scratch = ScratchDatabase(server, database)
    seed = Seed(scratch)
    seed.task("report")
    seed.run("report")
    scratch.execute(HISTORY.format(count=RUNS))
    scratch.close()


@pytest.fixture
def crowded(make_database: MakeDatabase) -> Seed:
    """A copy of it."""
    return Seed(make_database(crowd))


def check(found: dict[str, int], *indexes: str) -> None:
    """These indexes were read, and none of the large tables as a whole."""
    assert found.keys() >= set(indexes)
    assert {table: found[table] for table in TABLES if table in found} == {}


async def test_a_claim_reads_the_heads_of_its_classes(crowded: Seed) -> None:
    async with open_worker(crowded.database, crowded.credential("w1")) as worker:
        reads = await begin(worker.connection)
        await worker.claim(4)
        found = await reads()
        check(found, "run_attempts_dispatchable", "run_leases_of_session", "spent_offers_pkey")
        assert "runs_queued" not in found  # the whole queue, however long


async def test_the_whole_life_of_an_attempt_reads_no_table(crowded: Seed) -> None:
    async with open_worker(crowded.database, crowded.credential("w1"), limit=16) as worker:
        fences = await worker.claim(16)
        reads = await begin(worker.connection)
        await worker.starting(*fences)
        await worker.running(*fences)
        await worker.complete(*fences)
        check(await reads(), "runs_pkey", "run_attempts_pkey", "run_leases_pkey")


async def test_a_renewal_reads_leases_by_key(crowded: Seed) -> None:
    async with open_worker(crowded.database, crowded.credential("w1"), limit=64) as worker:
        fences = [fence for _ in range(4) for fence in await worker.claim(16)]
        reads = await begin(worker.connection)
        await worker.renew(*fences)
        found = await reads()
        check(found, "run_leases_pkey")
        assert not {"runs_pkey", "run_attempts_pkey"} & found.keys()


@pytest.mark.parametrize(
    ("placement", "index"), [(1, "run_attempts_dispatchable"), (0, "run_attempts_virtual_time")]
)
async def test_a_fair_tag_reads_one_end_of_an_index(crowded: Seed, placement: int, index: str) -> None:
    async with crowded.database.session() as session:
        await session.execute("SET plan_cache_mode = force_generic_plan")
        reads = await begin(session)
        await session.rows("SELECT tenure.take_fair_tag('shop', 5, $1)", placement)
        check(await reads(), index)


LIVE_LEASES = """
SELECT attempt FROM tenure.run_leases
WHERE state = 'leased' AND expires_at < (SELECT tenure.clock()) ORDER BY attempt LIMIT 17
"""


async def test_recovery_walks_the_live_leases_alone(crowded: Seed) -> None:
    async with open_worker(crowded.database, crowded.credential("w1")) as worker:
        await worker.claim(8)
    async with crowded.database.session() as session:
        reads = await begin(session)
        assert await session.rows(LIVE_LEASES) == []
        # Either index holds the live leases and nothing else.
        assert (await reads()).keys() <= {"run_leases_live", "run_leases_of_session"}


async def test_a_statement_about_an_attempt_reads_that_attempt(crowded: Seed) -> None:
    async with open_worker(crowded.database, crowded.credential("w1")) as worker:
        (fence,) = await worker.claim()
        await worker.starting(fence)
        reads = await begin(worker.connection)
        for sequence in (1, 2):
            assert (await worker.attest(fence, "running", sequence))["refusal"] is None
        found = await reads()
        check(found, "runs_pkey", "run_attempts_pkey", "run_leases_pkey")
        assert "attestations" not in found


async def test_what_a_session_holds_is_found_by_the_session(crowded: Seed) -> None:
    async with open_worker(crowded.database, crowded.credential("w1")) as worker:
        fences = await worker.claim(4)
        reads = await begin(worker.connection)
        _, *held = await worker.send(call.held_leases(worker.caller))
        assert {row["attempt"] for row in held} == {fence.attempt for fence in fences}
        check(await reads(), "run_leases_of_session", "run_attempts_pkey")


async def test_the_classes_with_work_are_found_without_their_queues(crowded: Seed) -> None:
    crowded.task("elsewhere", placement={"require": {"region": "us"}})
    crowded.runs("elsewhere", 2)
    async with crowded.database.session("tenure_ingress") as session:
        reads = await begin(session)
        rows = await session.rows(call.QUERIES["dispatchable"], 5)
        assert [row["attempts"] for row in rows] == [5, 2]
        found = await reads()
        check(found, "run_attempts_dispatchable")
        assert found["run_attempts_dispatchable"] <= 5  # to each class, into it, and once beyond the last
