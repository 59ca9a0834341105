"""A database session that stays open across trio code: to hold a lock, to look from outside, to force an
order.

The product never does this. A test does, to stand in the way of what it tests.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Coroutine, Sequence
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import asyncpg
import trio
import trio_asyncio  # type: ignore[import-untyped]

T = TypeVar("T")


class Session:
    """One connection; every call is a trio call. BEGIN and COMMIT are statements like any other."""

    def __init__(self, loop: Any, connection: asyncpg.Connection[asyncpg.Record]) -> None:
        self._loop = loop
        self._connection = connection
        self.pid: int = connection.get_server_pid()

    async def execute(self, sql: str, *arguments: object) -> str:
        """Run one statement, or a script when there are no arguments; the command tag."""
        return await self._cross(self._connection.execute(sql, *arguments))

    async def rows(self, sql: str, *arguments: object) -> Sequence[asyncpg.Record]:
        """The rows of one statement."""
        return await self._cross(self._connection.fetch(sql, *arguments))

    async def value(self, sql: str, *arguments: object) -> Any:
        """The first column of the first row; None when there is no row."""
        return await self._cross(self._connection.fetchval(sql, *arguments))

    async def types(self, sql: str) -> tuple[list[str], dict[str, str]]:
        """What the server makes of a statement: types of its parameters, and of its columns by name."""
        statement = await self._cross(self._connection.prepare(sql))
        columns = {column.name: column.type.name for column in statement.get_attributes()}
        return [parameter.name for parameter in statement.get_parameters()], columns

    async def _cross(self, work: Coroutine[Any, Any, T]) -> T:
        result: T = await self._loop.run_aio_coroutine(work)
        return result


@asynccontextmanager
async def open_session(dsn: str) -> AsyncIterator[Session]:
    """Have a session for the block. An open transaction is rolled back at its end."""
    failure: Exception | None = None
    async with trio_asyncio.open_loop() as loop:
        connection = await loop.run_aio_coroutine(asyncpg.connect(dsn))
        assert connection is not None
        try:
            yield Session(loop, connection)
        except Exception as error:  # noqa: BLE001 - raised again below, outside of the loop's nurseries
            failure = error
        finally:
            connection.terminate()
            with trio.CancelScope(shield=True):
                await loop.synchronize()
    if failure is not None:
        raise failure
