"""TLS handshakes that take turns.

The arithmetic of a handshake takes 2 to 3 ms that nothing can interrupt. Of a thousand peers that arrive
together it would be one step of the scheduler, and everybody else would wait for seconds. So it needs a turn,
and there are few; requests go on between turns.

A turn lasts from the arrival of data to the next wait for the peer. Waiting is done without one: peers that
are silent or send byte by byte cost others nothing, however many they are, and the deadline of the connection
ends them. Turns are given in the order of arrival.
"""

from __future__ import annotations

from typing import Any

import trio


async def shake_hands(stream: trio.SSLStream[Any], turns: trio.Semaphore) -> None:
    """The handshake of an accepted stream, its arithmetic done in `turns`.

    Raises what `SSLStream.do_handshake` raises. After a cancellation the stream can only be closed.
    """
    below = stream.transport_stream
    paced = stream.transport_stream = _PacedStream(below, turns)
    try:
        await stream.do_handshake()
    finally:
        paced.end_turn()
        stream.transport_stream = below


class _PacedStream(trio.abc.Stream):
    """What TLS reads from and writes to: reading begins a turn, every operation ends the one before."""

    def __init__(self, below: trio.abc.Stream, turns: trio.Semaphore) -> None:
        self._below = below
        self._turns = turns
        self._has_turn = False

    def end_turn(self) -> None:
        if self._has_turn:
            self._has_turn = False
            self._turns.release()

    async def receive_some(self, max_bytes: int | None = None) -> bytes | bytearray:
        self.end_turn()
        data = await self._below.receive_some(max_bytes)
        await self._turns.acquire()
        self._has_turn = True
        return data

    async def send_all(self, data: bytes | bytearray | memoryview) -> None:
        self.end_turn()
        await self._below.send_all(data)

    async def wait_send_all_might_not_block(self) -> None:
        await self._below.wait_send_all_might_not_block()

    async def aclose(self) -> None:
        await self._below.aclose()
