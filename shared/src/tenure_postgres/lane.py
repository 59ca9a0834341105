"""The coalescing lane: one kind of database call, in which all requests of that kind travel together.

While one call is in flight, further items collect; when it returns, everything that collected goes in the
next call. There is no timer: an item that finds the lane idle leaves at once, and under load the cost of a
round trip is shared by as many as there are. One call at a time on one connection; a second one would gain
nothing, because the rows are the same.

An item is never harmed by its neighbours. Each gets a verdict of its own; an item whose row is locked
elsewhere goes again with the next batches and is given up alone; when data is at fault the batch is split
until the guilty item stands alone; a waiter that goes away does not cancel the call that its item is in.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Hashable, Sequence
from dataclasses import dataclass
from typing import Generic, Self, TypeAlias, TypeVar

import trio

from tenure_postgres.connection import Connection
from tenure_postgres.database import Database
from tenure_postgres.error import (
    Busy,
    DatabaseError,
    Misconfigured,
    OutcomeUnknown,
    Overloaded,
    Unavailable,
)
from tenure_postgres.waiting import Ticket, WaitingLine

Item = TypeVar("Item")
Answer = TypeVar("Answer")

# An item whose row stays locked is tried for so long; then its caller is better told than kept.
PATIENCE_S = 1.0

# When nobody is waiting but items whose rows are locked, the next try waits for so long, or for a new item.
LOCKED_PAUSE_S = 0.01


@dataclass(frozen=True)
class Locked(Generic[Item]):
    """The verdict "a row is locked elsewhere". `rest` is what to try again: the item, or a part of it."""

    rest: Item


class StillLocked(Busy):
    """The item's row stayed locked for the whole patience of the lane. `rest` is what is left undone."""

    def __init__(self, message: str, sqlstate: str | None = None, rest: object = None) -> None:
        super().__init__(message, sqlstate)
        self.rest = rest

    def again(self) -> Self:
        """The same error anew, for another task."""
        return type(self)(str(self), self.sqlstate, self.rest)


Batch: TypeAlias = Callable[[Connection, Sequence[Item]], Awaitable[Sequence[Answer | Locked[Item]]]]
"""Asyncio-flavoured: sends one statement for all items and returns one verdict for each, in their order.

It may be called again with the same items after a lost connection, so the statement must recognise a
repetition.
"""


class Lane(Generic[Item, Answer]):
    """One lane. `run` serves it; `submit` may be called before, and from any number of tasks.

    Args:
        database: where the calls go; one connection is enough and should be the lane's own.
        batch: sends one call.
        name: for error messages and metrics.
        max_items: how much weight goes into one call.
        max_waiting: how many items may wait; one more is Overloaded.
    """

    def __init__(
        self,
        database: Database,
        batch: Batch[Item, Answer],
        *,
        name: str,
        max_items: int,
        max_waiting: int = 4096,
        patience_s: float = PATIENCE_S,
    ) -> None:
        self.name = name
        self.calls = 0
        self.served = 0
        self._database = database
        self._batch = batch
        self._max_items = max_items
        self._max_waiting = max_waiting
        self._patience_s = patience_s
        self._line: WaitingLine[Item, Answer] = WaitingLine()
        self._travelling: list[Ticket[Item, Answer]] = []
        self._stopped = False

    @property
    def waiting(self) -> int:
        """How many items wait for the next call."""
        return len(self._line)

    async def submit(
        self, item: Item, *, keys: Collection[Hashable], content: object, weight: int = 1
    ) -> Answer:
        """Send an item with the next call and return its answer.

        Args:
            keys: the rows that the item is about; no two items of one call share a key.
            content: what is asked of them. An item with the same keys and an equal content as the newest one
                that still waits is the same item, and both callers get its answer.
            weight: how much of a call's room the item takes.

        Raises Overloaded when too many wait, StillLocked when the row stayed locked, and what the call
        raised. Cancellation takes the item out when it still waits; a call that is on its way goes on.
        """
        if self._stopped:
            raise Unavailable(f"the lane {self.name} is stopped")
        keys = tuple(keys)
        ticket = self._line.find(keys, content)
        if ticket is None:
            if len(self._line) >= self._max_waiting:
                raise Overloaded(f"{self._max_waiting} items already wait in the lane {self.name}")
            ticket = self._line.join(Ticket(item, keys, content, weight))
        ticket.waiters += 1
        try:
            await ticket.settled.wait()
        finally:
            ticket.waiters -= 1
            if not ticket.waiters:
                self._line.leave(ticket)
        return ticket.result()

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Serve the lane until cancelled. However it ends, nobody is left waiting."""
        task_status.started()
        try:
            while True:
                await self._line.wait(LOCKED_PAUSE_S)
                self._travelling = self._line.take(self._max_items)
                await self._serve(self._travelling)
                self._travelling = []
        finally:
            self._stop()

    def _stop(self) -> None:
        self._stopped = True
        for ticket in self._travelling:
            ticket.fail(OutcomeUnknown(f"the lane {self.name} stopped during the call"))
        for ticket in self._line.clear():
            ticket.fail(Unavailable(f"the lane {self.name} stopped before the call"))

    async def _serve(self, tickets: Sequence[Ticket[Item, Answer]]) -> None:
        try:
            verdicts = await self._call(tickets)
        except (Busy, Unavailable, OutcomeUnknown, Misconfigured) as error:
            _fail(tickets, error)
        except Exception as error:  # noqa: BLE001 - data at fault, or a bug that some item brings out
            await self._find_the_guilty(tickets, error)
        else:
            self._settle(tickets, verdicts)

    async def _find_the_guilty(self, tickets: Sequence[Ticket[Item, Answer]], error: Exception) -> None:
        if len(tickets) == 1:
            _fail(tickets, error)
            return
        middle = len(tickets) // 2
        await self._serve(tickets[:middle])
        await self._serve(tickets[middle:])

    async def _call(self, tickets: Sequence[Ticket[Item, Answer]]) -> Sequence[Answer | Locked[Item]]:
        """Send one call, and once more when its connection was lost or it was a victim of a deadlock."""
        try:
            return await self._send(tickets)
        except Busy as busy:
            if not busy.repeatable:
                raise
        except (Unavailable, OutcomeUnknown):
            pass
        return await self._send(tickets)

    async def _send(self, tickets: Sequence[Ticket[Item, Answer]]) -> Sequence[Answer | Locked[Item]]:
        items = [ticket.item for ticket in tickets]
        self.calls += 1
        self.served += len(items)
        verdicts = await self._database.call(lambda connection: self._batch(connection, items))
        if len(verdicts) != len(items):
            raise DatabaseError(f"{len(verdicts)} verdicts for {len(items)} items of the lane {self.name}")
        return verdicts

    def _settle(
        self, tickets: Sequence[Ticket[Item, Answer]], verdicts: Sequence[Answer | Locked[Item]]
    ) -> None:
        for ticket, verdict in zip(tickets, verdicts, strict=True):
            if isinstance(verdict, Locked):
                self._try_later(ticket, verdict.rest)
            else:
                ticket.answer(verdict)

    def _try_later(self, ticket: Ticket[Item, Answer], rest: Item) -> None:
        ticket.item = rest
        now = trio.current_time()
        if ticket.locked_since is None:
            ticket.locked_since = now
        if now - ticket.locked_since >= self._patience_s:
            ticket.fail(StillLocked(f"still locked after {self._patience_s} s", "55P03", rest))
        elif ticket.waiters:
            self._line.rejoin(ticket)


def _fail(tickets: Sequence[Ticket[Item, Answer]], error: Exception) -> None:
    if not isinstance(error, DatabaseError):
        wrapped = DatabaseError(f"the call failed: {error!r}")
        wrapped.__cause__ = error
        error = wrapped
    for ticket in tickets:
        ticket.fail(error)
