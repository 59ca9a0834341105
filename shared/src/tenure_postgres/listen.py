"""LISTEN and NOTIFY, as accelerators only.

A notification says "look now instead of later". Nothing may depend on one: a lost one makes things slower,
never wrong. So the listener calls back whenever it cannot know what it missed, and the notifier drops what
it cannot send. Both need a direct connection: a pooler in transaction mode loses LISTEN.
"""

from __future__ import annotations

import logging
import random
from collections.abc import Callable, Collection
from functools import partial
from typing import Any, NoReturn, TypeAlias

import asyncpg
import trio
import trio_asyncio  # type: ignore[import-untyped]

from tenure_postgres.connection import Address, Connection
from tenure_postgres.crossing import Crossing, log_stray_errors
from tenure_postgres.database import Database
from tenure_postgres.error import DatabaseError, Unavailable, translate

OnNotify: TypeAlias = Callable[[str, str], None]
"""Called with channel and payload, inside the loop: set an event, no more."""

# A silent connection is asked whether it still lives; TCP alone would notice a partition after hours.
PING_S = 15.0
ANSWER_S = 5.0

# Reconnecting backs off up to here, so that a returning server is not met by everybody at once.
SHORTEST_PAUSE_S = 0.05
LONGEST_PAUSE_S = 5.0

# PostgreSQL serialises all commits that notify; more than this gains nobody anything.
NOTIFY_EVERY_S = 0.005

log = logging.getLogger(__name__)


async def listen(
    dsn: str,
    channels: Collection[str],
    on_notify: OnNotify,
    *,
    name: str,
    ping_s: float = PING_S,
    task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED,
) -> NoReturn:
    """Listen until cancelled; reconnect for ever.

    `on_notify` is also called, with an empty payload, for every channel after each (re)connection:
    something may have been missed. `started()` is reported at once, because nobody may depend on a
    connection being there.
    """
    task_status.started()
    pause_s = SHORTEST_PAUSE_S
    async with trio_asyncio.open_loop() as loop:
        log_stray_errors(loop)
        listener = _Listener(loop, Address(dsn, name, statements=0), channels, on_notify, ping_s)
        while True:
            try:
                await listener.serve()
            except DatabaseError as error:
                log.info("%s lost its connection: %s", name, error)
            pause_s = SHORTEST_PAUSE_S if listener.connected else min(pause_s * 2, LONGEST_PAUSE_S)
            await trio.sleep(pause_s * random.uniform(0.5, 1))  # noqa: S311 - jitter, not a secret


class _Listener:
    """One connection after the other, each kept until it fails."""

    def __init__(
        self, loop: Any, address: Address, channels: Collection[str], on_notify: OnNotify, ping_s: float
    ) -> None:
        self.connected = False
        self._loop = loop
        self._address = address
        self._channels = channels
        self._on_notify = on_notify
        self._ping_s = ping_s

    async def serve(self) -> None:
        """Connect, listen and ping until something fails."""
        self.connected = False
        connection = await self._ask(self._connect())
        self.connected = True
        lost = trio.Event()
        try:
            connection.add_termination_listener(lambda _: lost.set())
            for channel in self._channels:
                self._on_notify(channel, "")
            while not connection.is_closed():
                with trio.move_on_after(self._ping_s):
                    await lost.wait()
                await self._ask(connection.execute("SELECT"))
        finally:
            connection.terminate()

    async def _connect(self) -> Connection:
        connection = await self._address.connect()
        try:
            for channel in self._channels:
                await connection.add_listener(channel, self._receive)
        except BaseException:
            connection.terminate()
            raise
        return connection

    def _receive(self, _connection: object, _pid: int, channel: str, payload: object) -> None:
        self._on_notify(channel, str(payload))

    async def _ask(self, work: Any) -> Any:
        crossing: Crossing[Any] = Crossing(self._loop, work)
        if not await crossing.wait_until(trio.current_time() + ANSWER_S, _end):
            raise Unavailable(f"no answer within {ANSWER_S} s")
        if error := crossing.error:
            raise translate(error, lost=True, commit_sent=False) from error
        return crossing.result()


def _end(result: object) -> None:
    if isinstance(result, asyncpg.Connection):
        result.terminate()


class Notifier:
    """Sends notifications, at most one statement per 5 ms, over a database of its own (one connection).

    `notify` is called after the commit that it speaks of, never inside a transaction.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._pending: set[tuple[str, str]] = set()
        self._wanted = trio.Event()

    def notify(self, channel: str, payload: str = "") -> None:
        """Ask for a notification; the same one asked for twice before it is sent is sent once."""
        self._pending.add((channel, payload))
        self._wanted.set()

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> NoReturn:
        """Send until cancelled. What cannot be sent is dropped."""
        task_status.started()
        while True:
            await self._wanted.wait()
            self._wanted = trio.Event()
            pending, self._pending = sorted(self._pending), set()
            try:
                await self._database.call(partial(_send, pending))
            except DatabaseError as error:
                log.info("notifications were dropped: %s", error)
            await trio.sleep(NOTIFY_EVERY_S)


async def _send(pending: Collection[tuple[str, str]], connection: Connection) -> None:
    channels, payloads = zip(*pending, strict=True)
    await connection.execute(
        "SELECT pg_notify(channel, payload) FROM unnest($1::text[], $2::text[]) AS sent (channel, payload)",
        list(channels),
        list(payloads),
    )
