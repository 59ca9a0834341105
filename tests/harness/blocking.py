"""A blocking connection for set-up and inspection.

Fixtures are synchronous and so are most questions of a test ("which status has the run now?"). This
connection lives in a thread with an asyncio loop of its own, so that it also works in the middle of a trio
test. It blocks that test: a statement must not wait for something that the test itself holds, and is ended
after 10 s if it does.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Any, Self, TypeVar

import asyncpg

T = TypeVar("T")


class BlockingConnection:
    """One connection, made at first use."""

    def __init__(self, dsn: str) -> None:
        self._dsn = dsn
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="blocking")
        # trio_asyncio replaces the default loop for the whole process.
        self._runner = asyncio.Runner(loop_factory=asyncio.SelectorEventLoop)
        self._connection: asyncpg.Connection[asyncpg.Record] | None = None

    def execute(self, sql: str, *arguments: object) -> str:
        """Run one statement, or a script of several when there are no arguments; the command tag."""
        return self._run(lambda: self._execute(sql, arguments))

    def rows(self, sql: str, *arguments: object) -> Sequence[asyncpg.Record]:
        """The rows of one statement."""
        return self._run(lambda: self._fetch(sql, arguments))

    def value(self, sql: str, *arguments: object) -> Any:
        """The first column of the first row; None when there is no row."""
        return next((row[0] for row in self.rows(sql, *arguments)), None)

    def close(self) -> None:
        """Disconnect and end the thread."""
        self._thread.submit(self._close).result()
        self._thread.shutdown()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _run(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        try:
            return self._thread.submit(lambda: self._runner.run(work())).result()
        except asyncpg.PostgresConnectionError:
            # The server was restarted, or a test killed everybody: inspection goes on.
            return self._thread.submit(lambda: self._runner.run(work())).result()

    async def _connected(self) -> asyncpg.Connection[asyncpg.Record]:
        if self._connection is None or self._connection.is_closed():
            self._connection = await asyncpg.connect(self._dsn, statement_cache_size=0)
            await self._connection.execute("SET statement_timeout = '10s'")
        return self._connection

    async def _execute(self, sql: str, arguments: Sequence[object]) -> str:
        return await (await self._connected()).execute(sql, *arguments)

    async def _fetch(self, sql: str, arguments: Sequence[object]) -> Sequence[asyncpg.Record]:
        return await (await self._connected()).fetch(sql, *arguments)

    def _close(self) -> None:
        if self._connection is not None and not self._connection.is_closed():
            self._runner.run(self._connection.close(timeout=5))
        self._runner.close()
