"""The waiting room by itself, without a database: who is called, how often, and what is handed on.

The database is a table of attempts by class; a claim takes one of a class that its session matches. Times
are virtual, and nothing but the room decides who gets what.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from uuid import uuid4

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from tenure_ingress.place import Knowledge, Place
from tenure_ingress.waiting import AT_ONCE, LOOK_S, SPARE, Room, keep_looking
from tenure_postgres.error import DatabaseError, Unavailable


def knowing(*classes: int, seen: int = 9) -> Knowledge:
    return Knowledge(frozenset(classes), seen)


@dataclass
class Queue:
    """The dispatchable attempts by class, and how often anybody asked for them."""

    attempts: Counter[int] = field(default_factory=Counter)
    looks: int = 0
    claims: int = 0
    error: DatabaseError | None = None

    async def look(self, limit: int) -> Mapping[int, int]:
        await trio.lowlevel.checkpoint()
        self.looks += 1
        if self.error is not None:
            raise self.error
        return {placement: min(count, limit) for placement, count in self.attempts.items() if count > 0}


@dataclass
class Waiter:
    """A pull. It claims when it is called, `claim_s` long, and learns `teaches` by a claim in vain."""

    name: str
    queue: Queue
    knowledge: Knowledge
    declines: bool = False
    claim_s: float = 0.001
    teaches: Knowledge | None = None
    got: int | None = None
    claims: int = 0
    scope: trio.CancelScope = field(default_factory=trio.CancelScope)

    async def wait(self, room: Room, order: list[str]) -> None:
        with self.scope, room.place(uuid4(), self.knowledge, room.news) as place:
            while await self._is_called(place):
                order.append(self.name)
                if await self._claim():
                    room.claimed(place, 1)
                    return
                room.failed(place, self.teaches or self.knowledge)

    async def _is_called(self, place: Place) -> bool:
        await place.wait()
        return place.is_called

    async def _claim(self) -> bool:
        self.claims += 1
        self.queue.claims += 1
        await trio.sleep(self.claim_s)
        matching = [c for c in self.knowledge.classes if self.queue.attempts[c] > 0 and not self.declines]
        if matching:
            self.got = matching[0]
            self.queue.attempts[self.got] -= 1
        return bool(matching)


class Hall:
    """A room that is looked after, and the pulls in it."""

    def __init__(self, nursery: trio.Nursery) -> None:
        self.room = Room()
        self.queue = Queue()
        self.order: list[str] = []
        self._nursery = nursery

    async def enter(self, name: str, *classes: int, **how: object) -> Waiter:
        """One more pull waits, the newest of all."""
        knowledge = how.pop("knowledge", None) or knowing(*classes)
        waiter = Waiter(name, self.queue, knowledge, **how)  # type: ignore[arg-type]
        self._nursery.start_soon(waiter.wait, self.room, self.order)
        await wait_all_tasks_blocked()
        return waiter

    async def admit(self, placement: int, count: int = 1) -> None:
        """Work comes, and is told."""
        self.queue.attempts[placement] += count
        self.room.tell()
        await self.settle()

    async def settle(self) -> None:
        """Let everything happen that happens at once."""
        await trio.sleep(0.3)


@pytest.fixture
async def hall() -> AsyncIterator[Hall]:
    async with trio.open_nursery() as nursery:
        hall = Hall(nursery)
        nursery.start_soon(keep_looking, hall.room, hall.queue.look)
        yield hall
        nursery.cancel_scope.cancel()


async def test_the_oldest_that_matches_is_called(autojump_clock: MockClock, hall: Hall) -> None:
    for name, placement in (("a", 2), ("b", 1), ("c", 1), ("d", 2)):
        await hall.enter(name, placement)
    for placement in (1, 2, 2):
        await hall.admit(placement)
    assert hall.order == ["b", "a", "d"]
    assert len(hall.room) == 1


async def test_as_many_are_called_as_there_is_work(autojump_clock: MockClock, hall: Hall) -> None:
    waiters = [await hall.enter(str(number), 1) for number in range(10)]
    await hall.admit(1, 3)
    assert [waiter.got for waiter in waiters] == [1] * 3 + [None] * 7
    assert hall.queue.claims == 3


async def test_more_work_than_may_be_claimed_at_once_is_claimed_in_turn(
    autojump_clock: MockClock, hall: Hall
) -> None:
    waiters = [await hall.enter(str(number), 1) for number in range(2 * AT_ONCE + 10)]
    await hall.admit(1, 2 * AT_ONCE + 5)
    assert [waiter.got for waiter in waiters] == [1] * (2 * AT_ONCE + 5) + [None] * 5
    assert hall.queue.claims == 2 * AT_ONCE + 5


async def test_work_that_nobody_waits_for_calls_nobody(autojump_clock: MockClock, hall: Hall) -> None:
    await hall.enter("a", 1)
    await hall.admit(2, 16)
    assert (hall.queue.claims, hall.room.calls) == (0, 0)
    await hall.admit(1)
    assert hall.order == ["a"]


async def test_while_nobody_waits_nothing_is_asked(autojump_clock: MockClock, hall: Hall) -> None:
    await hall.admit(1)
    await trio.sleep(100 * LOOK_S)
    assert hall.queue.looks == 0


async def test_many_that_wait_cost_one_question_a_second(autojump_clock: MockClock, hall: Hall) -> None:
    for number in range(100):
        await hall.enter(str(number), 1)
    before = hall.queue.looks
    await trio.sleep(60 * LOOK_S)
    assert 45 <= hall.queue.looks - before <= 75


async def test_a_flood_of_notifications_is_few_questions(autojump_clock: MockClock, hall: Hall) -> None:
    await hall.enter("a", 1)
    for _ in range(1000):
        hall.room.tell()
        await trio.sleep(0.001)
    assert hall.queue.looks <= 22


async def test_a_lost_notification_costs_a_second(autojump_clock: MockClock, hall: Hall) -> None:
    await hall.enter("a", 1)
    hall.queue.attempts[1] += 1
    await trio.sleep(1.3 * LOOK_S)
    assert hall.order == ["a"]


async def test_work_that_came_between_claim_and_wait_is_asked_for_at_once(
    autojump_clock: MockClock, hall: Hall
) -> None:
    await hall.enter("other", 2)
    await trio.sleep(0.1)
    news = hall.room.news
    hall.room.tell()
    await hall.settle()
    hall.queue.attempts[1] += 1
    with hall.room.place(uuid4(), knowing(1), news) as place:
        with trio.fail_after(0.1):
            await place.wait()
        assert place.called_for == 1


async def test_a_call_in_vain_is_handed_on_and_age_is_kept(autojump_clock: MockClock, hall: Hall) -> None:
    await hall.enter("a", 1, declines=True)
    await hall.enter("b", 1)
    await hall.enter("c", 2)
    await hall.admit(1)
    assert hall.order == ["a", "b"]
    assert hall.room.vain == 1
    await hall.enter("d", 1)
    await hall.settle()
    await trio.sleep(1.3 * LOOK_S)  # the class was empty in between, so that nobody counts as tried
    await hall.admit(1)
    assert hall.order == ["a", "b", "a", "d"]


async def test_an_attempt_that_nobody_can_have_costs_little_and_tries_everybody(
    autojump_clock: MockClock, hall: Hall
) -> None:
    for number in range(50):
        await hall.enter(str(number), 1, declines=True)
    await hall.admit(1)
    assert hall.queue.claims == 1 + SPARE
    before = hall.queue.looks
    await trio.sleep(20 * LOOK_S)
    assert hall.queue.claims <= (hall.queue.looks - before + 1) * (1 + SPARE)
    assert set(hall.order) == {str(number) for number in range(50)}


async def test_who_cannot_have_it_does_not_stand_before_who_can(
    autojump_clock: MockClock, hall: Hall
) -> None:
    for number in range(2 * SPARE):
        await hall.enter(str(number), 1, declines=True)
    able = await hall.enter("able", 1)
    await hall.admit(1)
    assert able.got is None
    await trio.sleep(2.5 * LOOK_S)
    assert able.got == 1


def test_one_attempt_for_ten_thousand_calls_one() -> None:
    room = Room()
    with ExitStack() as standing:
        places = [
            standing.enter_context(room.place(uuid4(), knowing(1, 2), room.news)) for _ in range(10_000)
        ]
        room.hand_out({1: 1})
        assert [place.called_for for place in places] == [1] + [None] * 9_999
        room.hand_out({1: 1})  # while it claims, the attempt is still there
        assert room.calls == 1
        room.claimed(places[0], 1)
        room.hand_out({})
        assert room.calls == 1
    assert len(room) == 0


def test_who_took_several_does_not_make_the_others_call_on() -> None:
    room, called = Room(), SPARE + 2
    with ExitStack() as standing:
        places = [standing.enter_context(room.place(uuid4(), knowing(1), room.news)) for _ in range(20)]
        room.hand_out({1: called})
        room.claimed(places[0], called - 1)
        for place in places[1:called]:
            room.failed(place, place.knowledge)
        assert room.calls == called


async def test_a_newer_class_calls_once_who_does_not_know_it(autojump_clock: MockClock, hall: Hall) -> None:
    older = await hall.enter("older", knowledge=knowing(1, seen=1), teaches=knowing(1, seen=2))
    await hall.enter("newer", knowledge=knowing(1, seen=2))
    await hall.admit(2)
    await trio.sleep(10 * LOOK_S)
    assert hall.order == ["older"]
    assert older.claims == 1


async def test_a_newer_class_finds_who_matches_it(autojump_clock: MockClock, hall: Hall) -> None:
    for number in range(SPARE):
        await hall.enter(str(number), knowledge=knowing(1, seen=1), teaches=knowing(1, seen=2))
    able = await hall.enter("able", knowledge=knowing(1, 2, seen=1))
    await hall.admit(2)
    assert able.got == 2


async def test_who_learned_something_keeps_its_age(autojump_clock: MockClock, hall: Hall) -> None:
    await hall.enter("old", knowledge=knowing(1, seen=1), teaches=knowing(1, seen=2))
    await hall.enter("young", knowledge=knowing(1, seen=2))
    await hall.admit(2)
    hall.queue.attempts.clear()
    await trio.sleep(2 * LOOK_S)
    await hall.admit(1)
    assert hall.order == ["old", "old"]


def test_whoever_leaves_hands_its_call_on() -> None:
    room = Room()
    with room.place(uuid4(), knowing(1), room.news) as staying:
        with room.place(uuid4(), knowing(1), room.news) as leaving:
            room.hand_out({1: 2})
            room.claimed(staying, 1)
            assert (staying.called_for, leaving.called_for) == (None, 1)
        assert (staying.called_for, len(room)) == (1, 1)
    assert len(room) == 0


@pytest.mark.parametrize("moment_s", [0.0, 0.0005, 0.002])
async def test_a_cancelled_pull_leaves_the_room_exact_and_its_call_to_the_next(
    autojump_clock: MockClock, hall: Hall, moment_s: float
) -> None:
    """While it waits, while it claims, and between the call and the claim."""
    leaving = await hall.enter("leaving", 1, claim_s=math.inf)
    staying = await hall.enter("staying", 1)
    hall.queue.attempts[1] += 1
    hall.room.tell()
    await trio.sleep(moment_s)
    leaving.scope.cancel()
    await hall.settle()
    assert staying.got == 1
    assert len(hall.room) == 0
    assert hall.room.vain == 0


async def test_all_that_leave_at_once_leave_nothing_behind(autojump_clock: MockClock, hall: Hall) -> None:
    waiters = [await hall.enter(str(number), number % 3, claim_s=math.inf) for number in range(30)]
    await hall.admit(1, 5)
    for waiter in waiters:
        waiter.scope.cancel()
    await hall.settle()
    assert len(hall.room) == 0
    late = await hall.enter("late", 1)
    await trio.sleep(1.3 * LOOK_S)
    assert late.got == 1


async def test_a_database_that_is_gone_ends_no_wait(autojump_clock: MockClock, hall: Hall) -> None:
    await hall.enter("a", 1)
    hall.queue.error = Unavailable("gone")
    await hall.admit(1)
    await trio.sleep(10 * LOOK_S)
    assert (len(hall.room), hall.order) == (1, [])
    assert 10 <= hall.queue.looks <= 15
    hall.queue.error = None
    await trio.sleep(1.3 * LOOK_S)
    assert hall.order == ["a"]


async def test_a_room_that_closes_ends_all_waits_and_calls_nobody(
    autojump_clock: MockClock, hall: Hall
) -> None:
    claiming = await hall.enter("claiming", 1, claim_s=0.1, declines=True)
    for number in range(5):
        await hall.enter(str(number), 1)
    hall.queue.attempts[1] += 1
    hall.room.tell()
    await trio.sleep(0.05)
    assert claiming.claims == 1
    hall.room.close()
    await wait_all_tasks_blocked()
    assert len(hall.room) == 1  # it learns of the end with its answer
    await hall.settle()
    await hall.enter("late", 1)
    assert len(hall.room) == 0
    assert hall.order == ["claiming"]


def test_a_session_is_recalled_without_a_call_for_work() -> None:
    room, session = Room(), uuid4()
    with ExitStack() as standing:
        mine = [standing.enter_context(room.place(session, knowing(1), room.news)) for _ in range(2)]
        theirs = standing.enter_context(room.place(uuid4(), knowing(1), room.news))
        for payload in (str(session), str(uuid4()), "'; DROP", "\x00"):
            room.tell(payload)
        assert [place.is_called for place in (*mine, theirs)] == [True, True, False]
        assert room.calls == 0
        mine[0].begin_claim()
        room.failed(mine[0], mine[0].knowledge)
        assert (mine[0].is_called, room.vain) == (False, 0)
        room.hand_out({1: 3})  # who is recalled claims anyway, and may be called for work as well
        assert (mine[1].called_for, room.calls) == (1, 3)


def test_a_recall_between_a_claim_and_its_wait_is_not_lost() -> None:
    room, session = Room(), uuid4()
    news = room.news
    room.tell("nobody")
    with room.place(session, knowing(1), news) as place:
        assert not place.is_called
    room.tell(str(session))
    with room.place(session, knowing(1), news) as place:
        assert place.is_called
    with room.place(session, knowing(1), room.news) as place:
        assert not place.is_called


async def test_a_recall_during_a_claim_is_answered_by_the_next(autojump_clock: MockClock) -> None:
    room, session = Room(), uuid4()
    with room.place(session, knowing(1), room.news) as place:
        room.hand_out({1: 1})
        place.begin_claim()
        room.tell(str(session))
        room.failed(place, place.knowledge)
        with trio.fail_after(1):
            await place.wait()
        assert (place.is_called, place.called_for) == (True, None)


def test_a_session_that_waits_many_times_does_not_stand_before_its_neighbours() -> None:
    room, greedy = Room(), uuid4()
    with ExitStack() as standing:
        crowd = [standing.enter_context(room.place(greedy, knowing(1), room.news)) for _ in range(1000)]
        able = standing.enter_context(room.place(uuid4(), knowing(1), room.news))
        room.hand_out({1: 1})
        room.failed(crowd[0], crowd[0].knowledge)
        assert (able.called_for, room.calls) == (1, 2)
