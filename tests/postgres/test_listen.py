"""LISTEN and NOTIFY as accelerators: they wake, they reconnect, they never matter."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import trio

from tenure_postgres.listen import Notifier, listen
from tests.harness import ScratchDatabase, open_proxy


@dataclass
class Heard:
    """What a listener was told, and a way to wait for the next thing."""

    calls: list[tuple[str, str]] = field(default_factory=list)
    changed: trio.Event = field(default_factory=trio.Event)

    def __call__(self, channel: str, payload: str) -> None:
        self.calls.append((channel, payload))
        self.changed.set()

    async def until(self, *wanted: tuple[str, str]) -> None:
        with trio.fail_after(5):
            while self.calls[: len(wanted)] != list(wanted):
                self.changed = trio.Event()
                await self.changed.wait()
        self.calls.clear()


@asynccontextmanager
async def listening(dsn: str, ping_s: float = 15) -> AsyncIterator[Heard]:
    heard = Heard()
    async with trio.open_nursery() as nursery:

        async def serve(*, task_status: trio.TaskStatus[None]) -> None:
            await listen(dsn, ["one", "two"], heard, name="test", ping_s=ping_s, task_status=task_status)

        await nursery.start(serve)
        yield heard
        nursery.cancel_scope.cancel()


async def test_a_connection_wakes_once_and_then_each_notification(empty_database: ScratchDatabase) -> None:
    async with listening(empty_database.dsn()) as heard:
        await heard.until(("one", ""), ("two", ""))
        empty_database.execute("NOTIFY two, 'x'")
        await heard.until(("two", "x"))


async def test_a_killed_listener_comes_back_and_wakes(empty_database: ScratchDatabase) -> None:
    async with listening(empty_database.dsn()) as heard:
        await heard.until(("one", ""), ("two", ""))
        assert empty_database.kill_backends() == 1
        await heard.until(("one", ""), ("two", ""))
        empty_database.execute("NOTIFY one")
        await heard.until(("one", ""))


async def test_a_partition_is_found_by_the_ping(empty_database: ScratchDatabase) -> None:
    async with (
        open_proxy(empty_database.server.socket_path) as proxy,
        listening(proxy.dsn(empty_database.dsn()), ping_s=0.05) as heard,
    ):
        await heard.until(("one", ""), ("two", ""))
        proxy.stall()
        await trio.testing.wait_all_tasks_blocked(0.1)
        proxy.cut()
        proxy.forward()
        await heard.until(("one", ""), ("two", ""))


async def test_an_unreachable_server_is_tried_again(empty_database: ScratchDatabase) -> None:
    async with open_proxy(empty_database.server.socket_path) as proxy:
        proxy.refuse()
        async with listening(proxy.dsn(empty_database.dsn())) as heard:
            await trio.testing.wait_all_tasks_blocked(0.1)
            assert not heard.calls
            proxy.forward()
            await heard.until(("one", ""), ("two", ""))


async def test_a_notifier_joins_what_is_asked_within_a_moment(empty_database: ScratchDatabase) -> None:
    async with (
        listening(empty_database.dsn()) as heard,
        empty_database.open(size=1) as database,
        trio.open_nursery() as nursery,
    ):
        await heard.until(("one", ""), ("two", ""))
        notifier = Notifier(database)
        await nursery.start(notifier.run)
        for _ in range(100):
            notifier.notify("one")
        notifier.notify("two", "x")
        await heard.until(("one", ""), ("two", "x"))
        assert not heard.calls
        nursery.cancel_scope.cancel()


async def test_a_notifier_without_a_server_goes_on(empty_database: ScratchDatabase) -> None:
    async with (
        open_proxy(empty_database.server.socket_path) as proxy,
        listening(empty_database.dsn()) as heard,
        empty_database.open(size=1, dsn=proxy.dsn(empty_database.dsn())) as database,
        trio.open_nursery() as nursery,
    ):
        await heard.until(("one", ""), ("two", ""))
        notifier = Notifier(database)
        await nursery.start(notifier.run)
        proxy.refuse()
        notifier.notify("one", "lost")
        await trio.testing.wait_all_tasks_blocked(0.02)
        proxy.forward()
        notifier.notify("one", "sent")
        await heard.until(("one", "sent"))
        nursery.cancel_scope.cancel()
