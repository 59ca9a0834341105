"""Every call of the protocol against every other, in random order, on the same few rows.

Whatever the order, nobody deadlocks, no event is missing, no session holds more than its limit, and no
attempt is in two hands.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from uuid import UUID, uuid4

import asyncpg
import pytest
import trio

from tenure_contracts.wire.attestation import AttestedState
from tenure_contracts.wire.lease import Fence
from tests.database.worker import SqlWorker, open_worker
from tests.harness import ScratchDatabase, Session
from tests.harness.seed import Seed

ROUNDS = 60
LIMIT = 3

# Adopted work is not counted: it exists already, and wins over the limit.
OVERFULL = """
SELECT count(*) FROM (SELECT l.session FROM tenure.run_leases l
                      WHERE l.state = 'leased' AND l.attested_state IS NULL
                      GROUP BY l.session HAVING count(*) > $1) overfull
"""
RELEASE = """
SELECT tenure.return_to_queue(a.attempt, 'lease_expired', 'system', tenure.clock())
FROM tenure.run_attempts a JOIN tenure.run_leases l USING (attempt)
WHERE a.attempt = ANY ($1) AND a.status = 'claimed' AND l.state = 'leased'
"""
# What holds between any two transactions, in one snapshot each.
BROKEN = """
SELECT r.run FROM tenure.runs r
CROSS JOIN LATERAL (
    SELECT count(*) AS events, max(x.sequence) AS last FROM tenure.run_events x WHERE x.run = r.run) e
WHERE e.events <> r.version OR e.last <> r.version OR r.version <> r.event_sequence
   OR (SELECT count(*) FROM tenure.run_attempts a WHERE a.run = r.run AND a.ended_at IS NULL)
      <> CASE WHEN r.status IN ('queued', 'dispatching', 'running') THEN 1 ELSE 0 END
"""


@dataclass
class Memory:
    """What the connections of one worker share. It forgets no fence."""

    session: UUID = field(default_factory=uuid4)
    generation: int = 1
    fences: list[Fence] = field(default_factory=list)


class Hand:
    """One connection of a worker, which repeats what it likes while the other does the same."""

    def __init__(self, worker: SqlWorker, memory: Memory, chance: random.Random) -> None:
        self.worker = worker
        self.memory = memory
        self.chance = chance

    async def act(self) -> None:
        """Anything the protocol has."""
        worker, memory = self.worker, self.memory
        worker.session, worker.generation = memory.session, memory.generation
        newest = {fence.attempt: fence for fence in self.chance.sample(memory.fences, len(memory.fences))}
        some = list(newest.values())[:4]
        match self.chance.randrange(11 if some else 2):
            case 0:
                memory.fences += await worker.claim_some(self.chance.randrange(1, 5))
            case 1:
                await self._begin_anew()
            case 2:
                await worker.decline(*some, reason=self.chance.choice(["declined", "shutdown"]))
            case 3 | 4:
                await worker.starting(*some)
            case 5:
                await worker.running(*some)
            case 6 | 7:
                await worker.renew(*some)
            case 8:
                await worker.complete(*some, outcome=self.chance.choice(["succeeded", "failed"]))
            case 9:
                await worker.heartbeat()
            case 10:
                state: AttestedState = "running" if self.chance.random() < 0.8 else "stopped"
                await worker.attest(some[0], state, self.chance.randrange(1, 4))

    async def _begin_anew(self) -> None:
        """As a process that was restarted: sometimes it said goodbye, sometimes its successor takes over."""
        if self.chance.random() < 0.5:
            await self.worker.offline()
        self.worker.session = uuid4()
        row = await self.worker.register(limit=LIMIT, takeover=True)
        if row["refusal"] is None:
            self.memory.session, self.memory.generation = self.worker.session, row["generation"]


async def act(
    database: ScratchDatabase, token: str, memory: Memory, luck: int, failures: list[BaseException]
) -> None:
    """One connection that acts for a while."""
    async with open_worker(database, token, register=False) as worker:
        hand = Hand(worker, memory, random.Random(luck))
        for _ in range(ROUNDS):
            try:
                await hand.act()
            except asyncpg.LockNotAvailableError:
                pass
            except asyncpg.PostgresError as error:
                failures.append(error)


async def recover(control: Session, overfull: list[int]) -> None:
    """What recovery does with unstarted leases, expired or not; and a look at the capacity."""
    while True:
        leased = await control.rows("SELECT attempt FROM tenure.run_leases WHERE state = 'leased' LIMIT 2")
        await control.execute("BEGIN")
        ours = await control.value("SELECT tenure.lock_attempts($1)", [row["attempt"] for row in leased])
        await control.rows(RELEASE, ours)
        await control.execute("COMMIT")
        overfull.append(await control.value(OVERFULL, LIMIT))
        await trio.sleep(0.02)


@pytest.mark.parametrize("luck", [1, 2])
async def test_no_order_of_calls_breaks_anything(database: ScratchDatabase, seed: Seed, luck: int) -> None:
    seed.runs("report", 100)
    workers = [(seed.credential(f"w{number}"), Memory()) for number in range(3)]
    failures: list[BaseException] = []
    overfull: list[int] = []
    async with database.session("tenure_control") as control, trio.open_nursery() as nursery:
        nursery.start_soon(recover, control, overfull)
        async with trio.open_nursery() as hands:
            for number in range(6):
                token, memory = workers[number % 3]
                hands.start_soon(act, database, token, memory, 100 * luck + number, failures)
        nursery.cancel_scope.cancel()
    assert failures == []
    assert database.value("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()") == 0
    assert set(overfull) == {0}
    assert database.rows(BROKEN) == []
    assert database.value("SELECT count(*) FROM tenure.runs WHERE finished_at IS NOT NULL") > 0
