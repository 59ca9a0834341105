"""The coalescing lane: who travels with whom, and what one item's trouble means for the others."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from tenure_postgres.database import Connection
from tenure_postgres.error import DatabaseError, DataFault, OutcomeUnknown, Overloaded, Unavailable
from tenure_postgres.lane import Lane, Locked, StillLocked
from tests.harness import ScratchDatabase, Session, open_proxy
from tests.postgres.whole import assert_whole

COUNT_UP = """
WITH free AS (SELECT id FROM item WHERE id = ANY ($1::int[]) ORDER BY id FOR NO KEY UPDATE SKIP LOCKED),
done AS (UPDATE item SET note = note || '+' FROM free WHERE item.id = free.id RETURNING item.id, item.note)
SELECT asked.id, done.note FROM unnest($1::int[]) WITH ORDINALITY AS asked (id, ord)
  LEFT JOIN done USING (id) ORDER BY asked.ord
"""


@dataclass
class Counting:
    """A batch function over the table `item`, and a record of the batches that it got."""

    batches: list[list[int]] = field(default_factory=list)
    before: Callable[[Sequence[int]], None] = lambda _: None

    async def __call__(self, connection: Connection, items: Sequence[int]) -> list[str | Locked[int]]:
        self.batches.append(list(items))
        self.before(items)
        if max(items) >= 1000:
            await connection.fetchval("SELECT 1/0")
        found = await connection.fetch(COUNT_UP, list(items))
        return [Locked(row["id"]) if row["note"] is None else row["note"] for row in found]


@pytest.fixture
def counting() -> Counting:
    return Counting()


@asynccontextmanager
async def serving(
    rows: ScratchDatabase,
    counting: Counting,
    *,
    max_items: int = 64,
    patience_s: float = 1,
    dsn: str | None = None,
) -> AsyncIterator[Lane[int, str]]:
    """A running lane over 100 rows."""
    rows.execute("INSERT INTO item SELECT i, '' FROM generate_series(1, 100) i")
    async with rows.open(size=1, dsn=dsn) as database:
        lane = Lane(
            database, counting, name="count", max_items=max_items, max_waiting=100, patience_s=patience_s
        )
        async with trio.open_nursery() as nursery:
            await nursery.start(lane.run)
            yield lane
            nursery.cancel_scope.cancel()
        assert database.pool.free == 1


async def ask(lane: Lane[int, str], item: int, content: object = None) -> str:
    return await lane.submit(item, keys=[item], content=content)


@asynccontextmanager
async def held_row(rows: ScratchDatabase, number: int) -> AsyncIterator[Session]:
    """Somebody else holds the lock of one row."""
    async with rows.session() as session:
        await session.execute("BEGIN")
        await session.execute("SELECT 1 FROM item WHERE id = $1 FOR UPDATE", number)
        yield session


async def gather(lane: Lane[int, str], items: Sequence[int]) -> dict[int, str | BaseException]:
    """Submit all at once; the answer or the error of each."""
    results: dict[int, str | BaseException] = {}

    async def one(item: int) -> None:
        try:
            results[item] = await ask(lane, item)
        except DatabaseError as error:
            results[item] = error

    async with trio.open_nursery() as nursery:
        for item in items:
            nursery.start_soon(one, item)
    return results


async def test_a_lone_item_leaves_at_once(rows: ScratchDatabase, counting: Counting) -> None:
    async with serving(rows, counting) as lane:
        assert await ask(lane, 1) == "+"
        assert await ask(lane, 1) == "++"
    assert counting.batches == [[1], [1]]


async def test_what_collects_during_a_call_goes_together(rows: ScratchDatabase, counting: Counting) -> None:
    async with serving(rows, counting) as lane:
        results = await gather(lane, range(1, 41))
    assert set(results.values()) == {"+"}
    assert len(results) == 40
    assert len(counting.batches) <= 3


async def test_a_batch_has_its_bound(rows: ScratchDatabase, counting: Counting) -> None:
    async with serving(rows, counting, max_items=16) as lane:
        await gather(lane, range(1, 41))
    assert max(map(len, counting.batches)) == 16
    assert sum(map(len, counting.batches)) == 40


async def test_a_heavy_item_takes_its_room_and_the_heaviest_goes_alone(
    rows: ScratchDatabase, counting: Counting
) -> None:
    async with rows.open(size=1) as database:
        lane: Lane[int, str] = Lane(database, counting, name="count", max_items=4)
        rows.execute("INSERT INTO item SELECT i, '' FROM generate_series(1, 3) i")
        async with trio.open_nursery() as running:
            async with trio.open_nursery() as asking:
                for item, weight in ((1, 3), (2, 2), (3, 9)):
                    asking.start_soon(_submit_heavy, lane, item, weight)
                    await wait_all_tasks_blocked()
                await running.start(lane.run)
            running.cancel_scope.cancel()
    assert counting.batches == [[1], [2], [3]]


async def _submit_heavy(lane: Lane[int, str], item: int, weight: int) -> None:
    await lane.submit(item, keys=[item], content=None, weight=weight)


async def test_the_same_item_is_sent_once_and_another_content_waits(
    rows: ScratchDatabase, counting: Counting
) -> None:
    answers: list[str] = []

    async def note(content: str) -> None:
        answers.append(await ask(lane, 1, content))

    rows.execute("INSERT INTO item VALUES (1, '')")
    async with rows.open(size=1) as database:
        lane: Lane[int, str] = Lane(database, counting, name="count", max_items=64)
        async with trio.open_nursery() as running:
            async with trio.open_nursery() as asking:
                for content in ("same", "same", "other"):
                    asking.start_soon(note, content)
                    await wait_all_tasks_blocked()
                await running.start(lane.run)
            running.cancel_scope.cancel()
    assert sorted(answers) == ["+", "+", "++"]
    assert counting.batches == [[1], [1]]


async def test_a_locked_row_delays_only_its_own_item(rows: ScratchDatabase, counting: Counting) -> None:
    async with serving(rows, counting) as lane, held_row(rows, 7) as holder, trio.open_nursery() as nursery:
        late: list[str] = []

        async def locked() -> None:
            late.append(await ask(lane, 7))

        nursery.start_soon(locked)
        with trio.fail_after(1):
            assert await gather(lane, [1, 2, 3]) == {1: "+", 2: "+", 3: "+"}
        assert not late
        await holder.execute("COMMIT")
        with trio.fail_after(1):
            while not late:
                await wait_all_tasks_blocked(0.01)
    assert late == ["+"]


async def test_a_row_that_stays_locked_is_given_up_alone(rows: ScratchDatabase, counting: Counting) -> None:
    async with serving(rows, counting, patience_s=0.1) as lane, held_row(rows, 7):
        results = await gather(lane, [6, 7, 8])
    assert (results[6], results[8]) == ("+", "+")
    error = results[7]
    assert isinstance(error, StillLocked)
    assert error.raced
    assert error.rest == 7
    assert len(counting.batches) < 15, "it was tried again with pauses"


async def test_the_guilty_item_ends_alone(rows: ScratchDatabase, counting: Counting) -> None:
    async with serving(rows, counting) as lane:
        results = await gather(lane, [*range(1, 20), 1000])
    assert isinstance(results.pop(1000), DataFault)
    assert set(results.values()) == {"+"}, "and nobody's work was done twice"


async def test_a_bug_in_the_batch_function_reaches_its_waiter_and_the_lane_goes_on(
    rows: ScratchDatabase, counting: Counting
) -> None:
    def bug(items: Sequence[int]) -> None:
        if 5 in items:
            raise LookupError("a bug")

    counting.before = bug
    async with serving(rows, counting) as lane:
        results = await gather(lane, [4, 5, 6])
        assert (results[4], results[6]) == ("+", "+")
        assert isinstance(results[5], DatabaseError)
        assert "a bug" in str(results[5])
        assert await ask(lane, 4) == "++"


async def test_a_lost_connection_is_replaced_and_the_call_sent_once_more(
    rows: ScratchDatabase, counting: Counting
) -> None:
    async with (
        open_proxy(rows.server.socket_path) as proxy,
        serving(rows, counting, dsn=proxy.dsn(rows.dsn())) as lane,
    ):
        await ask(lane, 1)
        proxy.lose_reply("WITH free")
        assert await gather(lane, [2]) == {2: "++"}, "this batch function does not recognise a repetition"
    assert counting.batches == [[1], [2], [2]]


async def test_a_database_that_is_gone_reaches_every_waiter(
    rows: ScratchDatabase, counting: Counting
) -> None:
    async with (
        open_proxy(rows.server.socket_path) as proxy,
        serving(rows, counting, dsn=proxy.dsn(rows.dsn())) as lane,
    ):
        await ask(lane, 1)
        proxy.refuse()
        proxy.cut()
        results = await gather(lane, [1, 2, 3])
        assert {type(each) for each in results.values()} <= {Unavailable, OutcomeUnknown}

        proxy.forward()
        assert await ask(lane, 1) == "++"


async def test_a_waiter_that_leaves_does_not_cancel_the_call(
    rows: ScratchDatabase, counting: Counting
) -> None:
    called = trio.Event()
    counting.before = lambda _: called.set()
    async with serving(rows, counting) as lane, trio.open_nursery() as nursery:
        await ask(lane, 1)
        rows.execute(
            "CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS"
            " $$ BEGIN PERFORM pg_sleep(0.1); RETURN NEW; END $$;"
            " CREATE TRIGGER slow BEFORE UPDATE ON item FOR EACH STATEMENT EXECUTE FUNCTION slow()"
        )
        called = trio.Event()

        async def leave_early() -> None:
            with trio.CancelScope() as scope:
                leaving.append(scope)
                await ask(lane, 2)

        leaving: list[trio.CancelScope] = []
        nursery.start_soon(leave_early)
        await called.wait()
        leaving[0].cancel()
        assert await ask(lane, 3) == "+"
    assert rows.value("SELECT note FROM item WHERE id = 2") == "+"


async def test_an_item_whose_only_waiter_left_before_the_call_is_not_sent(
    rows: ScratchDatabase, counting: Counting
) -> None:
    async with rows.open(size=1) as database:
        lane: Lane[int, str] = Lane(database, counting, name="count", max_items=64)
        with trio.move_on_after(0):
            await ask(lane, 1)
        assert lane.waiting == 0


async def test_a_full_line_is_overloaded(rows: ScratchDatabase, counting: Counting) -> None:
    async with rows.open(size=1) as database, trio.open_nursery() as nursery:
        lane: Lane[int, str] = Lane(database, counting, name="count", max_items=64, max_waiting=3)
        for item in (1, 2, 3):
            nursery.start_soon(ask, lane, item)
        await wait_all_tasks_blocked()
        with pytest.raises(Overloaded):
            await ask(lane, 4)
        nursery.cancel_scope.cancel()


async def test_a_lane_that_stops_leaves_nobody_waiting(rows: ScratchDatabase, counting: Counting) -> None:
    async with rows.open(size=1) as database, rows.session() as holder:
        rows.execute("INSERT INTO item VALUES (1, ''), (2, '')")
        await holder.execute("BEGIN; LOCK TABLE item")
        lane: Lane[int, str] = Lane(database, counting, name="count", max_items=64)
        results: dict[int, str | BaseException] = {}

        async def collect() -> None:
            results.update(await gather(lane, [1, 2]))

        async with trio.open_nursery() as outer, trio.open_nursery() as nursery:
            await nursery.start(lane.run)
            outer.start_soon(collect)
            await rows.wait_until_blocked()
            outer.start_soon(holder.execute, "COMMIT")
            nursery.cancel_scope.cancel()
        assert results == {1: "+", 2: "+"}, "a call on its way is awaited"
        with pytest.raises(Unavailable):
            await ask(lane, 3)
        await assert_whole(rows, database)
