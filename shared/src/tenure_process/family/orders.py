"""Signals and the orders of a parent as one stream, for a process that a parent started.

A stop may come both ways: a supervisor signals every process of a service, and the parent passes on what it
got itself. Two ways to say the same must not be taken for the second signal, which cuts; so what counts is
how often the same side said it.
"""

from __future__ import annotations

import math
import signal
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import trio


@asynccontextmanager
async def obeying(
    signals: AsyncIterator[Any], parent: trio.abc.ReceiveStream
) -> AsyncIterator[AsyncIterator[int]]:
    """Have both as one iterator for the block. The end of `parent` is an order to stop: it died."""
    send, receive = trio.open_memory_channel[int](math.inf)
    async with trio.open_nursery() as nursery:
        heard = _Heard(send)
        nursery.start_soon(_pass_on, signals, heard)
        nursery.start_soon(_read, parent, heard)
        yield receive
        nursery.cancel_scope.cancel()


class _Heard:
    def __init__(self, send: trio.MemorySendChannel[int]) -> None:
        self._send = send
        self._stops: Counter[str] = Counter()
        self._told = 0

    def hear(self, side: str, number: int) -> None:
        if number != signal.SIGHUP:
            self._stops[side] += 1
            if self._stops[side] <= self._told:
                return
            self._told += 1
        self._send.send_nowait(number)

    def lose_parent(self) -> None:
        """A parent's end is an order to stop, but never the second one: it may have died while we drain."""
        if not self._told:
            self.hear("parent", signal.SIGTERM)


async def _pass_on(signals: AsyncIterator[Any], heard: _Heard) -> None:
    async for number in signals:
        heard.hear("signal", number)


async def _read(parent: trio.abc.ReceiveStream, heard: _Heard) -> None:
    async for orders in parent:
        for number in orders:
            heard.hear("parent", number)
    heard.lose_parent()
