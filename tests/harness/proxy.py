"""A proxy that makes a network fail in the way a test wants.

It stands between a client and a server and carries bytes, faithfully until it is told otherwise. It speaks
TCP, for HTTP and for a PostgreSQL that listens on TCP, and Unix sockets, for the harness's own server: then
it listens in a closed folder, and the server still knows its client by peer authentication.
"""

from __future__ import annotations

import contextlib
import socket
import struct
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias
from urllib.parse import parse_qs, quote, urlencode, urlsplit, urlunsplit

import trio

from tests.harness.postgres_wire import READY_FOR_QUERY, MessageReader, StatementWatch

Address: TypeAlias = tuple[str, int] | Path
Direction: TypeAlias = Literal["requests", "replies"]

CHUNK_BYTES = 65536


@dataclass(eq=False)
class Link:
    """One client's connection: both streams, and what is known about the PostgreSQL statements on it."""

    client: trio.SocketStream
    server: trio.SocketStream
    watch: StatementWatch = field(default_factory=StatementWatch)
    losing: MessageReader | None = None


class FaultProxy:
    """The proxy's switches. All take effect at once, for the open connections and for new ones."""

    def __init__(self, upstream: Address, address: Address) -> None:
        self.upstream = upstream
        self.address = address
        self.accepted = 0
        self._delay_s = 0.0
        self._refusing = False
        self._held: set[Direction] = set()
        self._released = trio.Event()
        self._holding = trio.Event()
        self._lose_reply_to: str | None = None
        self._lost = trio.Event()
        self._links: set[Link] = set()

    def forward(self) -> None:
        """Carry everything again; bytes that were held come through first."""
        self._delay_s = 0.0
        self._refusing = False
        self._held.clear()
        self._released.set()
        self._released = trio.Event()
        self._holding = trio.Event()

    def delay(self, seconds: float) -> None:
        """Carry each piece later by so much, in either direction."""
        self._delay_s = seconds

    def stall(self) -> None:
        """Accept connections and bytes, and carry nothing: a partition that nobody has noticed yet."""
        self._held |= {"requests", "replies"}

    def one_way(self, held: Direction) -> None:
        """Hold this direction only: the requests arrive and the replies do not, or the other way round."""
        self._held.add(held)

    async def wait_held(self) -> None:
        """Wait until something is held: after `one_way("replies")`, until there is an answer to lose."""
        await self._holding.wait()

    def refuse(self) -> None:
        """Close every new connection at once. The open ones stay."""
        self._refusing = True

    def cut(self) -> None:
        """Break every open connection: over TCP with RST."""
        for link in self._links:
            _break(link)
        self._links.clear()

    def lose_reply(self, statement: str = "COMMIT") -> trio.Event:
        """Let the next PostgreSQL statement that begins so be executed, and break the connection instead of
        replying.

        The event returned is set when that has happened: the server is done with the statement then.
        """
        self._lose_reply_to = statement
        self._lost = trio.Event()
        return self._lost

    def dsn(self, dsn: str) -> str:
        """The same PostgreSQL address, led through this proxy."""
        parts = urlsplit(dsn)
        if isinstance(self.address, Path):
            query = parse_qs(parts.query) | {"host": [str(self.address.parent)]}
            return urlunsplit(parts._replace(query=urlencode(query, doseq=True)))
        credentials, _, _ = parts.netloc.rpartition("@")
        host, port = self.address
        return urlunsplit(parts._replace(netloc=f"{credentials}@{quote(host)}:{port}"))

    async def serve(self, client: trio.SocketStream) -> None:
        """Carry one connection until either side ends it."""
        if self._refusing:
            return
        self.accepted += 1
        with contextlib.suppress(OSError):
            link = Link(client, await _connect(self.upstream))
            self._links.add(link)
            try:
                async with link.server, trio.open_nursery() as nursery:
                    nursery.start_soon(self._carry, link, "requests")
                    nursery.start_soon(self._carry, link, "replies")
            finally:
                self._links.discard(link)

    async def _carry(self, link: Link, direction: Direction) -> None:
        source, target = link.client, link.server
        if direction == "replies":
            source, target = target, source
        try:
            while data := await source.receive_some(CHUNK_BYTES):
                await self._pass(link, direction, data, target)
            await target.send_eof()
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            _break(link)

    async def _pass(self, link: Link, direction: Direction, data: bytes, target: trio.SocketStream) -> None:
        while direction in self._held and link in self._links:
            self._holding.set()
            await self._released.wait()
        if self._delay_s:
            await trio.sleep(self._delay_s)
        if direction == "requests":
            self._watch(link, data)
        elif link.losing is not None:
            self._lose(link, link.losing, data)
            return
        await target.send_all(data)

    def _watch(self, link: Link, data: bytes) -> None:
        executed = link.watch.executed(data)
        wanted = self._lose_reply_to
        if wanted is not None and any(each.lstrip().startswith(wanted) for each in executed):
            self._lose_reply_to = None
            link.losing = MessageReader()

    def _lose(self, link: Link, reader: MessageReader, data: bytes) -> None:
        if any(kind == READY_FOR_QUERY for kind, _ in reader.feed(data)):
            _break(link)
            self._lost.set()


def _break(link: Link) -> None:
    for stream in (link.client, link.server):
        if stream.socket.fileno() >= 0:
            with contextlib.suppress(OSError):
                # Linger for zero seconds: TCP sends RST instead of FIN.
                stream.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            stream.socket.close()


async def _connect(address: Address) -> trio.SocketStream:
    if isinstance(address, Path):
        return await trio.open_unix_socket(str(address))
    return await trio.open_tcp_stream(*address)


@asynccontextmanager
async def open_proxy(upstream: Address) -> AsyncIterator[FaultProxy]:
    """Have a proxy in front of a TCP address, or of a Unix socket, for the block.

    Example: `async with open_proxy(server.socket_path) as proxy:` and then `proxy.dsn(database.dsn(role))`.
    """
    with tempfile.TemporaryDirectory(prefix="tenure-") as folder:
        listener, address = await _listen(upstream, Path(folder))
        proxy = FaultProxy(upstream, address)
        failure: Exception | None = None
        async with trio.open_nursery() as nursery:
            await nursery.start(trio.serve_listeners, proxy.serve, [listener])
            try:
                yield proxy
            except Exception as error:  # noqa: BLE001 - raised again below, outside of the nursery
                failure = error
            nursery.cancel_scope.cancel()
    if failure is not None:
        raise failure


async def _listen(upstream: Address, folder: Path) -> tuple[trio.SocketListener, Address]:
    """Listen as the upstream does: on a Unix socket of the same name, or on a free port of the loopback."""
    if isinstance(upstream, Path):
        listening = trio.socket.socket(socket.AF_UNIX)
        await listening.bind(str(folder / upstream.name))
        listening.listen(64)
        return trio.SocketListener(listening), folder / upstream.name
    (listener,) = await trio.open_tcp_listeners(0, host="127.0.0.1")
    host, port = listener.socket.getsockname()
    return listener, (host, port)
