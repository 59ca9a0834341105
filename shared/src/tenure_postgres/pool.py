"""A small pool: a list of idle connections and a fair semaphore for those who want one.

asyncpg's own pool is not used: each release costs a round trip for RESET, and a cancelled acquisition from
trio loses the connection for good. Here a connection goes back only when it is whole; otherwise it is
terminated and the next one who wants it connects anew.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import trio

from tenure_postgres.connection import Address, Connection, is_whole
from tenure_postgres.crossing import Crossing
from tenure_postgres.error import Busy, Unavailable, translate


class Pool:
    """Up to `size` connections to one address. Connections are made when they are first wanted."""

    def __init__(self, loop: asyncio.AbstractEventLoop, address: Address, size: int) -> None:
        self.size = size
        self._loop = loop
        self._address = address
        self._places = trio.Semaphore(size, max_value=size)
        self._idle: list[Connection] = []
        self._held: set[Connection] = set()
        self._closed = False

    @property
    def idle(self) -> int:
        """How many connections wait for use."""
        return len(self._idle)

    @property
    def free(self) -> int:
        """How many callers could take a connection at once, whether it is made yet or not."""
        return self._places.value

    @asynccontextmanager
    async def hold(self, deadline: float) -> AsyncIterator[Connection]:
        """Have a connection for the block; first come, first served.

        Raises Busy when none becomes free until `deadline` (trio time), Unavailable when connecting fails
        or takes until then. Whatever happens in the block, only a whole connection goes back.
        """
        await self._take_place(deadline)
        connection = None
        try:
            connection = self._pop_idle() or await self._connect(deadline)
            self._held.add(connection)
            yield connection
        finally:
            if connection is not None:
                self._give_back(connection)
            self._places.release()

    def forget_idle(self) -> None:
        """Terminate the idle connections: after a loss they are dead too, or lead to the former primary."""
        while self._idle:
            self._idle.pop().terminate()

    def close(self) -> None:
        """Terminate everything; from now on `hold` raises Unavailable."""
        self._closed = True
        self.forget_idle()
        for connection in self._held:
            connection.terminate()

    async def _take_place(self, deadline: float) -> None:
        with trio.move_on_at(deadline) as scope:
            await self._places.acquire()
        if scope.cancelled_caught:
            raise Busy(f"none of the {self.size} connections of {self._address.name} became free in time")
        if self._closed:
            self._places.release()
            raise Unavailable(f"{self._address.name} is closed")

    def _pop_idle(self) -> Connection | None:
        # The most recently used first: its caches are warm, and the others age into being noticed as dead.
        while self._idle:
            connection = self._idle.pop()
            if is_whole(connection):
                return connection
            connection.terminate()
        return None

    async def _connect(self, deadline: float) -> Connection:
        crossing = Crossing(self._loop, self._address.connect())
        if not await crossing.wait_until(deadline, _terminate):
            raise Unavailable(f"{self._address.name} could not connect in time")
        if error := crossing.error:
            raise translate(error, lost=False, commit_sent=False) from error
        return crossing.result()

    def _give_back(self, connection: Connection) -> None:
        self._held.discard(connection)
        if is_whole(connection) and not self._closed:
            self._idle.append(connection)
        else:
            connection.terminate()


def _terminate(connection: Connection) -> None:
    connection.terminate()
