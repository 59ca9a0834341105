"""The waiting room: pulls that found no work and wait for some, at no cost to the database.

Each replica asks one question for all of them, once a second and whenever somebody tells that work came:
which placement classes have dispatchable attempts, and how many. Then it calls as many matching pulls as
there are attempts, oldest first, and each of them claims as any other pull does. Nothing is promised to it:
another replica may be faster, or it may be the one session that has just declined this attempt.

So a call is handed on. Whoever was called in vain keeps its place by age, and calls the next one that
matches and was not tried; whoever goes away with a call unanswered does the same. That is bounded: from one
question to the next there are as many claims as there were attempts, and `SPARE` more, however many wait.
A session that was tried in vain for a class comes after those that were not, until the class is empty or all
were tried. The session and not the pull: its pulls are alike, and with a thousand of them it would stand a
thousand times before its neighbour.

The room decides without a clock and without a database, and every change of it is one synchronous step. So
there is no place where a cancellation could leave it half changed.
"""

from __future__ import annotations

import heapq
import random
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import count, islice
from typing import Final, NoReturn
from uuid import UUID

import structlog
import trio

from tenure_ingress.place import Knowledge, Place
from tenure_postgres.error import DatabaseError

log = structlog.get_logger("tenure.ingress")

LOOK_S: Final = 1.0
"""How often to ask when nobody tells anything: what a lost notification costs."""

SPACING_S: Final = 0.05
"""The shortest time from one question to the next, however much is told."""

SPARE: Final = 4
"""So many calls are handed on between two questions. More would cost a fleet a storm of claims for one
attempt that nobody can have; fewer would leave work to the next second because of one session."""

AT_ONCE: Final = 64
"""So many claims of called pulls are on their way at one time: the connections are few, and others' too."""


class Room:
    """The pulls that wait in one process. The counters are read by the metrics.

    `news` rises with everything that is told: a pull that reads it before its claim, and hands it in when it
    enters, misses nothing that was told in between.
    """

    def __init__(self) -> None:
        self.looks = 0
        self.calls = 0
        self.vain = 0
        self.news = 0
        self._lines: dict[Knowledge, dict[Place, None]] = {}
        self._of_session: defaultdict[UUID, set[Place]] = defaultdict(set)
        self._arrivals = count()
        self._trying: Counter[int] = Counter()
        self._tried: defaultdict[int, set[UUID]] = defaultdict(set)
        self._recalled_at = 0
        self.is_closed = False
        self._spare = 0
        self._wanted = trio.Event()
        self._occupied = trio.Event()

    def __len__(self) -> int:
        """How many pulls are in the room, those that claim included."""
        return sum(map(len, self._lines.values()))

    @contextmanager
    def place(self, session: UUID, knowledge: Knowledge, news: int) -> Iterator[Place]:
        """Have a place for the block. However it ends, a call that led to nothing is handed on."""
        place = Place(session, next(self._arrivals), knowledge)
        self._of_session[session].add(place)
        self._stand(place)
        if self.is_closed:
            place.wake()
        if news != self.news:
            self._wanted.set()
        if news < self._recalled_at:  # perhaps it, between its claim and now: one claim more is cheap
            place.recall()
        try:
            yield place
        finally:
            self._leave(place)

    def claimed(self, place: Place, attempts: int) -> None:
        """A called pull has got something. Perhaps not all there was, so it is worth to ask again.

        A pull may take several attempts, and then that many others were called in vain for its sake: their
        calls are not handed on.
        """
        self._end_call(place)
        self._spare -= attempts - 1
        self._wanted.set()

    def failed(self, place: Place, knowledge: Knowledge) -> None:
        """A called pull has got nothing, and now knows this: it waits on, and the next one is called."""
        placement = self._end_call(place)
        if placement is not None:
            self.vain += 1
            self._tried[placement].add(place.session)
            self._hand_on(placement)
        if knowledge != place.knowledge:
            self._step_out(place)
            place.knowledge = knowledge
            self._stand(place)
        if self.is_closed:
            place.wake()

    def tell(self, payload: str = "") -> None:
        """Somebody says that work came; or names a session, about which there is something to hear."""
        self.news += 1
        if payload:
            self._recall(payload)
        else:
            self._wanted.set()

    def close(self) -> None:
        """End all waits, also those that come."""
        self.is_closed = True
        for line in self._lines.values():
            for place in line:
                place.wake()

    def hand_out(self, found: Mapping[int, int]) -> None:
        """The answer of a look, attempts by class: call whom it is worth to call."""
        self.looks += 1
        self._spare = SPARE
        for placement in self._tried.keys() - found.keys():
            del self._tried[placement]
        for placement, attempts in sorted(found.items()) if not self.is_closed else ():
            wanted = min(attempts - self._trying[placement], AT_ONCE - self._trying.total())
            for place in self._choose(placement, wanted):
                self._call(place, placement)

    async def wait_for_look(self) -> int:
        """Wait until a look is due; how many attempts of a class it has to count at most."""
        while True:
            await self._occupied.wait()
            with trio.move_on_after(LOOK_S * random.uniform(0.8, 1.2)):  # noqa: S311 - jitter, not a secret
                await self._wanted.wait()
            self._wanted = trio.Event()
            if self._lines:
                return min(len(self), AT_ONCE)
            self._occupied = trio.Event()

    def _choose(self, placement: int, wanted: int) -> list[Place]:
        """The oldest that match and were not tried; when there is none, the oldest of all that match."""
        if wanted <= 0:
            return []
        chosen = list(islice(self._untried(placement), wanted))
        if not chosen and placement in self._tried:
            del self._tried[placement]
            chosen = list(islice(self._untried(placement), wanted))
        return chosen

    def _untried(self, placement: int) -> Iterator[Place]:
        lines = [line for knowledge, line in self._lines.items() if knowledge.may_match(placement)]
        tried = self._tried.get(placement, ())
        return (
            place
            for place in heapq.merge(*lines, key=_arrival)
            if place.called_for is None and place.session not in tried
        )

    def _call(self, place: Place, placement: int) -> None:
        self.calls += 1
        place.called_for = placement
        self._trying[placement] += 1
        place.wake()

    def _end_call(self, place: Place) -> int | None:
        placement = place.called_for
        if placement is not None:
            self._trying[placement] -= 1
        place.rest()
        return placement

    def _hand_on(self, placement: int) -> None:
        heir = next(self._untried(placement), None) if self._spare > 0 and not self.is_closed else None
        if heir is not None:
            self._spare -= 1
            self._call(heir, placement)

    def _recall(self, session: str) -> None:
        with suppress(ValueError):  # whoever may connect may notify: what is no id is nobody's
            places = self._of_session.get(UUID(session), ())
            self._recalled_at = self.news
            for place in places:
                place.recall()

    def _leave(self, place: Place) -> None:
        self._step_out(place)
        self._of_session[place.session].discard(place)
        if not self._of_session[place.session]:
            del self._of_session[place.session]
            for tried in self._tried.values():
                tried.discard(place.session)
        placement = self._end_call(place)
        if placement is not None:
            self._hand_on(placement)

    def _stand(self, place: Place) -> None:
        line = self._lines.setdefault(place.knowledge, {})
        overtakes = bool(line) and next(reversed(line)).arrival > place.arrival
        line[place] = None
        if overtakes:  # it has learned what those in this line knew before
            self._lines[place.knowledge] = dict.fromkeys(sorted(line, key=_arrival))
        self._occupied.set()

    def _step_out(self, place: Place) -> None:
        line = self._lines[place.knowledge]
        del line[place]
        if not line:
            del self._lines[place.knowledge]


def _arrival(place: Place) -> int:
    return place.arrival


async def keep_looking(room: Room, ask: Callable[[int], Awaitable[Mapping[int, int]]]) -> NoReturn:
    """Ask on behalf of all that wait, until cancelled; while nobody waits, nothing is asked.

    `ask` is given how far to count, and answers attempts by class. What it fails with ends no wait: the next
    question is due a second later.
    """
    while True:
        limit = await room.wait_for_look()
        try:
            found = await ask(limit)
        except DatabaseError as error:
            log.info("look_failed", waiting=len(room), reason=str(error))
        else:
            room.hand_out(found)
        await trio.sleep(SPACING_S)
