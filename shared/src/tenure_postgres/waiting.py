"""Those who wait for the next call of a lane."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Generic, TypeVar, cast

import trio

from tenure_postgres.error import DatabaseError

Item = TypeVar("Item")
Answer = TypeVar("Answer")


@dataclass(eq=False)
class Ticket(Generic[Item, Answer]):
    """One item, from joining the line until it is settled; several callers may wait for it."""

    item: Item
    keys: tuple[Hashable, ...]
    content: object
    weight: int
    waiters: int = 0
    locked_since: float | None = None
    settled: trio.Event = field(default_factory=trio.Event)
    _answer: Answer | None = None
    _error: DatabaseError | None = None

    def answer(self, answer: Answer) -> None:
        """Settle with an answer."""
        self._answer = answer
        self.settled.set()

    def fail(self, error: DatabaseError) -> None:
        """Settle with an error; an item that is already settled stays as it is."""
        if not self.settled.is_set():
            self._error = error
            self.settled.set()

    def result(self) -> Answer:
        """What it was settled with."""
        if self._error is not None:
            raise self._error.again() from self._error
        return cast("Answer", self._answer)


class WaitingLine(Generic[Item, Answer]):
    """The line: first come, first served, except that one batch takes no key twice."""

    def __init__(self) -> None:
        self._tickets: dict[Ticket[Item, Answer], None] = {}
        # The newest of each set of keys. Contents are compared and never hashed, which would cost more.
        self._new: dict[tuple[Hashable, ...], Ticket[Item, Answer]] = {}
        self._locked: set[Ticket[Item, Answer]] = set()
        self._arrival = trio.Event()

    def __len__(self) -> int:
        return len(self._tickets)

    def find(self, keys: tuple[Hashable, ...], content: object) -> Ticket[Item, Answer] | None:
        """The ticket of the same item, if it has not travelled yet and none of its keys' came after it."""
        ticket = self._new.get(keys)
        return ticket if ticket is not None and ticket.content == content else None

    def join(self, ticket: Ticket[Item, Answer]) -> Ticket[Item, Answer]:
        """Stand at the end of the line."""
        self._tickets[ticket] = None
        self._new[ticket.keys] = ticket
        self._arrival.set()
        return ticket

    def rejoin(self, ticket: Ticket[Item, Answer]) -> None:
        """Stand at the end again, after a call that found the row locked."""
        self._tickets[ticket] = None
        self._locked.add(ticket)

    def leave(self, ticket: Ticket[Item, Answer]) -> None:
        """Step out, if it is still in the line."""
        self._tickets.pop(ticket, None)
        self._locked.discard(ticket)
        if self._new.get(ticket.keys) is ticket:
            del self._new[ticket.keys]

    def take(self, room: int) -> list[Ticket[Item, Answer]]:
        """The next batch: up to `room` by weight, at least one, no key twice."""
        taken: list[Ticket[Item, Answer]] = []
        keys: set[Hashable] = set()
        for ticket in self._tickets:
            if taken and ticket.weight > room:
                break
            if keys.isdisjoint(ticket.keys):
                taken.append(ticket)
                room -= ticket.weight
            # Also the keys of one that must wait: a later one of the same key does not overtake it.
            keys.update(ticket.keys)
        for ticket in taken:
            self.leave(ticket)
        return taken

    def clear(self) -> list[Ticket[Item, Answer]]:
        """Empty the line and return who stood in it."""
        everybody = list(self._tickets)
        self._tickets.clear()
        self._locked.clear()
        self._new.clear()
        return everybody

    async def wait(self, locked_pause_s: float) -> None:
        """Wait until a batch is worth sending: at once for new items, after a pause for locked ones alone."""
        await trio.lowlevel.checkpoint()
        if len(self._tickets) == len(self._locked):
            self._arrival = trio.Event()
            with trio.move_on_after(locked_pause_s if self._tickets else float("inf")):
                await self._arrival.wait()
