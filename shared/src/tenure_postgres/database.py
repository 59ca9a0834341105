"""The asyncio border: units of work against one database, called from trio.

A *unit* is an asyncio-flavoured function of one connection. It is called across the border once, however
many statements it sends, and no connection or transaction is ever open across trio code. There are three
ways to run
one: `transact` (BEGIN, the unit, COMMIT), `call` (one statement that commits by itself) and `fetch` (reads).

Deadlines: the server ends statements, lock waits and idle transactions by the settings of the role. Around
each unit stands one trio deadline, longer than those, for a server that does not answer at all. And the
caller may have a deadline of its own. When one of the latter two fires, the call returns at once and the
connection is terminated, so that no later caller meets a connection in an unknown state.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias, TypeVar

import trio
import trio_asyncio  # type: ignore[import-untyped]

from tenure_postgres.connection import STATEMENTS, Address, Connection, Row
from tenure_postgres.crossing import Crossing, log_stray_errors
from tenure_postgres.error import Busy, DatabaseError, OutcomeUnknown, Unavailable, translate
from tenure_postgres.pool import Pool

__all__ = ["Connection", "Database", "Row", "Unit", "open_database"]

T = TypeVar("T")
Unit: TypeAlias = Callable[[Connection], Awaitable[T]]

# Longer than statement_timeout (5 s), so that the server's own answer comes first when there is a server.
DEADLINE_S = 8.0

# A victim of a deadlock or of a serialization failure is run again so often, after pauses of about these
# lengths.
PAUSES_S = (0.005, 0.02, 0.08)


@dataclass
class Progress:
    """How far a unit came; written on the asyncio side, read from trio."""

    commit_sent: bool = False


Work: TypeAlias = Callable[[Connection, Progress], Coroutine[Any, Any, T]]


class Database:
    """A pool of connections as one role, and the three ways to use it. Made by `open_database`.

    Every method raises the classes of `tenure_postgres.error`; an exception of the unit's own passes
    unchanged and rolls back. Cancelling a caller ends the unit and its connection at once and nothing is
    committed, with one exception: when COMMIT is already on its way its answer is awaited, at most until
    the deadline of the unit, and if it came the result is returned. A caller that was cancelled all the
    same must take the outcome as unknown.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, pool: Pool, name: str, deadline_s: float) -> None:
        self.name = name
        self.pool = pool
        self.deadline_s = deadline_s
        self._loop = loop

    async def transact(self, unit: Unit[T], *, deadline_s: float | None = None) -> T:
        """Run the unit inside one transaction and commit it.

        Deadlocks and serialization failures are repeated after a short pause, as long as COMMIT was not
        sent, so a unit must not change anything but the database. `deadline_s` bounds the whole,
        repetitions included.

        Raises OutcomeUnknown when the connection was lost after COMMIT was sent.
        """
        deadline = self._deadline(deadline_s)
        for pause_s in _pauses():
            progress = Progress()
            try:
                return await self._run(partial(_in_transaction, unit), progress, deadline)
            except Busy as busy:
                if not busy.repeatable or progress.commit_sent or trio.current_time() + pause_s > deadline:
                    raise
            await trio.sleep(pause_s)
        return await self._run(partial(_in_transaction, unit), Progress(), deadline)

    async def call(self, unit: Unit[T], *, deadline_s: float | None = None) -> T:
        """Run a unit that sends one writing statement, which commits by itself: one round trip.

        Raises OutcomeUnknown when the connection was lost after the statement was sent. Never repeated.
        """
        return await self._run(partial(_by_itself, unit), Progress(), self._deadline(deadline_s))

    async def fetch(self, unit: Unit[T], *, deadline_s: float | None = None) -> T:
        """Run a unit that only reads, without a transaction: each statement sees what is committed then."""
        return await self._run(partial(_reading, unit), Progress(), self._deadline(deadline_s))

    def _deadline(self, deadline_s: float | None) -> float:
        return trio.current_time() + (self.deadline_s if deadline_s is None else deadline_s)

    async def _run(self, work: Work[T], progress: Progress, deadline: float) -> T:
        try:
            async with self.pool.hold(deadline) as connection:
                crossing = Crossing(self._loop, work(connection, progress))
                return await _settle(crossing, connection, progress, deadline)
        except (Unavailable, OutcomeUnknown):
            self.pool.forget_idle()
            raise


async def _settle(crossing: Crossing[T], connection: Connection, progress: Progress, deadline: float) -> T:
    """Wait for the unit, as long as deadline and caller allow, and see to it that nothing is left behind."""
    cancelled: trio.Cancelled | None = None
    try:
        with trio.move_on_at(deadline):
            await crossing.wait()
    except trio.Cancelled as caller_gave_up:  # noqa: ASYNC103 - raised again below, unless the answer came
        cancelled = caller_gave_up
        if progress.commit_sent:
            with trio.CancelScope(shield=True, deadline=deadline):
                await crossing.wait()
    if not crossing.finished:
        # First the connection: a cancelled statement makes the driver open a second one to ask for its end.
        connection.terminate()
        crossing.abandon(lambda _: None)
    if cancelled is not None and (not crossing.finished or crossing.error):
        raise cancelled
    if not crossing.finished:
        raise _too_late(progress)
    if error := crossing.error:
        raise _meaning(error, connection, progress) from error
    return crossing.result()


def _meaning(error: BaseException, connection: Connection, progress: Progress) -> BaseException:
    if isinstance(error, asyncio.CancelledError):
        return Unavailable("the database was closed during a unit of work")
    return translate(error, lost=connection.is_closed(), commit_sent=progress.commit_sent)


def _too_late(progress: Progress) -> DatabaseError:
    if progress.commit_sent:
        return OutcomeUnknown("the server did not answer the commit in time")
    return Unavailable("the server did not answer in time")


def _pauses() -> Iterator[float]:
    return (pause_s * random.uniform(0.5, 1.5) for pause_s in PAUSES_S)  # noqa: S311 - jitter, not a secret


async def _in_transaction(unit: Unit[T], connection: Connection, progress: Progress) -> T:
    await connection.execute("BEGIN")
    try:
        result = await unit(connection)
    except BaseException:
        # asyncio: whoever cancels this terminates the connection, so nothing can hang here.
        await _roll_back(connection)  # noqa: ASYNC102
        raise
    progress.commit_sent = True
    if await connection.execute("COMMIT") != "COMMIT":
        raise DatabaseError("the unit hid an error of the server: the transaction was rolled back")
    return result


async def _roll_back(connection: Connection) -> None:
    """Roll back, or terminate a connection that cannot; the error that led here is the one to raise."""
    try:
        if not connection.is_closed():
            await connection.execute("ROLLBACK")
    except Exception:  # noqa: BLE001 - whatever it is, the connection is of no further use
        connection.terminate()


async def _by_itself(unit: Unit[T], connection: Connection, progress: Progress) -> T:
    progress.commit_sent = True
    return await unit(connection)


async def _reading(unit: Unit[T], connection: Connection, _: Progress) -> T:
    return await unit(connection)


@asynccontextmanager
async def open_database(
    dsn: str,
    *,
    size: int,
    name: str,
    deadline_s: float = DEADLINE_S,
    statements: int = STATEMENTS,
) -> AsyncIterator[Database]:
    """Have a database for the block. Nothing is connected before the first unit; leaving terminates
    everything.

    Args:
        dsn: `postgresql://…` address; the role is part of it.
        size: connections at most.
        name: shown in `pg_stat_activity` and in error messages.
        deadline_s: how long a unit may take altogether, waiting for a connection included.
        statements: prepared statements kept by each connection; 0 behind a transaction-mode pooler.

    An exception of the block comes out as it is, not inside a group of the loop's.
    """
    failure: BaseException | None = None
    async with trio_asyncio.open_loop() as loop:
        log_stray_errors(loop)
        pool = Pool(loop, Address(dsn, name, statements), size)
        try:
            yield Database(loop, pool, name, deadline_s)
        except BaseException as error:  # noqa: ASYNC103, BLE001 - raised again below, outside the nurseries
            failure = error
        finally:
            pool.close()
    if failure is not None:
        raise failure
