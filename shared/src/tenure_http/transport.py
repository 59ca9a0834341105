"""Any trio stream as three operations, with the shortest way to the bytes that it allows."""

from __future__ import annotations

import os
import ssl
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

import trio

from tenure_http.handshake import shake_hands

RECEIVE_BYTES: Final = 64 * 1024
"""One read: an ordinary request arrives whole, and this much is the most a peer can make us hold unparsed."""

_LINGER_BYTES: Final = 256 * 1024

BROKEN: Final = (trio.BrokenResourceError, trio.ClosedResourceError, OSError, ssl.SSLError)
"""What a transport raises when the peer is gone; nobody is left to be told."""


@dataclass(frozen=True, slots=True)
class Transport:
    """A stream, how to read and write it, and the peer's address (empty when it has none)."""

    stream: trio.abc.Stream
    receive: Callable[[int], Awaitable[bytes | bytearray]]
    send: Callable[[bytes], Awaitable[None]]
    peer: str

    async def shake_hands(self, turns: trio.Semaphore) -> None:
        """Does what TLS wants before the first byte, in `turns`; nothing for other streams."""
        if isinstance(self.stream, trio.SSLStream):
            await shake_hands(self.stream, turns)

    async def linger(self, timeout_s: float) -> None:
        """Says that nothing more comes, and drops what the peer still sends, for a bounded time and size.

        Closing a socket with unread bytes resets the connection, and the peer loses the answer it was sent.
        """
        with trio.move_on_after(timeout_s):
            if isinstance(self.stream, trio.abc.HalfCloseableStream):
                await self.stream.send_eof()
            left = _LINGER_BYTES
            while left > 0 and (data := await self.receive(RECEIVE_BYTES)):
                left -= len(data)


def transport_over(stream: trio.abc.Stream) -> Transport:
    """The transport of an accepted stream.

    Raises:
        OSError: the peer is gone already.
    """
    if isinstance(stream, trio.SocketStream):
        return _over_socket(stream)
    if isinstance(stream, trio.SSLStream):
        return Transport(stream, stream.receive_some, stream.send_all, _peer(stream.transport_stream))
    return Transport(stream, stream.receive_some, stream.send_all, "")


def _over_socket(stream: trio.SocketStream) -> Transport:
    # SocketStream sets TCP_NODELAY. Its reads try before they wait, and its reads and writes give way to
    # other tasks after each success. Here a read follows an answer, so it has to wait anyway, and that wait
    # is where a connection gives way: one turn of the scheduler per request instead of three.
    descriptor = stream.socket.fileno()

    async def receive(max_bytes: int) -> bytes:
        while True:
            await trio.lowlevel.wait_readable(descriptor)
            with suppress(BlockingIOError):
                return os.read(descriptor, max_bytes)

    async def send(data: bytes) -> None:
        sent = 0
        with suppress(BlockingIOError):
            sent = os.write(descriptor, data)
        if sent < len(data):
            await stream.send_all(memoryview(data)[sent:])

    return Transport(stream, receive, send, _peer(stream))


def _peer(stream: object) -> str:
    if not isinstance(stream, trio.SocketStream):
        return ""
    address = stream.socket.getpeername()
    return address[0] if isinstance(address, tuple) else ""
