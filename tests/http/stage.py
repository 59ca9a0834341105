"""A server on memory streams and a client that is a bare h11 connection: no socket, no clock of its own."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import h11
import trio
import trio.testing

from tenure_http import (
    Admit,
    Bound,
    Handler,
    Limits,
    Observer,
    Request,
    Response,
    Route,
    Router,
    Service,
    serve,
)

StreamPair = tuple[trio.abc.Stream, trio.abc.Stream]


class MemoryListener(trio.abc.Listener[trio.abc.Stream]):
    """Accepts what `connect` makes."""

    def __init__(self, pair: Callable[[], StreamPair] = trio.testing.memory_stream_pair) -> None:
        self._pair = pair
        self._send, self._receive = trio.open_memory_channel[trio.abc.Stream](100)
        self.closed = False

    def connect(self) -> Client:
        ours, theirs = self._pair()
        self._send.send_nowait(theirs)
        return Client(ours)

    async def accept(self) -> trio.abc.Stream:
        return await self._receive.receive()

    async def aclose(self) -> None:
        self.closed = True
        self._receive.close()
        await trio.lowlevel.checkpoint()


@dataclass(frozen=True)
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def code(self) -> str:
        assert self.headers["content-type"] == "application/problem+json"
        assert self.json["status"] == self.status
        return str(self.json["code"])

    @property
    def closes(self) -> bool:
        return self.headers.get("connection") == "close"


@dataclass
class Client:
    """One connection. `tell` sends raw bytes, `hear` reads one answer, `ask` does both."""

    stream: trio.abc.Stream
    interim: list[int] = field(default_factory=list)
    _rest: bytes = b""

    async def tell(self, data: bytes) -> None:
        await self.stream.send_all(data)

    async def ask(self, data: bytes) -> Answer:
        await self.tell(data)
        return await self.hear("HEAD" if data.startswith(b"HEAD ") else "POST")

    async def hear(self, method: str = "POST") -> Answer:
        connection = h11.Connection(h11.CLIENT)
        connection.send(h11.Request(method=method, target="/", headers=[("Host", "x")]))
        connection.send(h11.EndOfMessage())
        if self._rest:
            connection.receive_data(self._rest)
        head, body = None, b""
        while not isinstance(event := await self._event(connection), h11.EndOfMessage):
            if isinstance(event, h11.InformationalResponse):
                self.interim.append(event.status_code)
            elif isinstance(event, h11.Response):
                head = event
            else:
                assert isinstance(event, h11.Data), event
                body += event.data
        assert head is not None
        self._rest = connection.trailing_data[0]
        headers = {name.decode(): value.decode() for name, value in head.headers}
        return Answer(head.status_code, headers, body)

    async def _event(self, connection: h11.Connection) -> object:
        while (event := connection.next_event()) is h11.NEED_DATA:
            connection.receive_data(bytes(await self.stream.receive_some(65536)))
        return event

    async def is_closed(self) -> bool:
        """Waits for the end of the stream; False when more bytes come first."""
        return not self._rest and not await self.stream.receive_some(1)


@dataclass(frozen=True)
class Stage:
    service: Service
    listener: MemoryListener

    def connect(self) -> Client:
        return self.listener.connect()


@asynccontextmanager
async def on_stage(
    routes: Iterable[Route] = (),
    *,
    admit: Admit | None = None,
    limits: Limits | None = None,
    observer: Observer | None = None,
    pair: Callable[[], StreamPair] = trio.testing.memory_stream_pair,
) -> AsyncIterator[Stage]:
    """A server with `routes` (and `/echo`), until the block ends."""
    listener = MemoryListener(pair)
    admit = admit or Router([echo_route(), *routes])
    run = partial(serve, [listener], admit, limits=limits, observer=observer)
    async with trio.open_nursery() as nursery:
        service = await nursery.start(run)
        yield Stage(service, listener)
        nursery.cancel_scope.cancel()


async def echo(request: Request) -> Response:
    return Response(200, request.body)


def echo_route() -> Route:
    return Route("echo", "POST", "/echo", echo, body_bytes=1000)


def route(handler: Handler, *, counted: bool = True) -> Route:
    """`POST /try` for one handler."""
    return Route("try", "POST", "/try", handler, body_bytes=1000, counted=counted)


def post(
    path: str = "/echo", body: bytes = b"{}", *, length: str | None = None, extra: Iterable[str] = ()
) -> bytes:
    """The bytes of a request; `length` replaces the true one, empty leaves it out."""
    length = str(len(body)) if length is None else length
    lines = [f"POST {path} HTTP/1.1", "Host: test", "Content-Type: application/json", *extra]
    if length:
        lines.append(f"Content-Length: {length}")
    return "\r\n".join([*lines, "", ""]).encode() + body


def get(path: str, *, method: str = "GET") -> bytes:
    return f"{method} {path} HTTP/1.1\r\nHost: test\r\n\r\n".encode()


class RecordingObserver:
    """Keeps what it hears."""

    def __init__(self) -> None:
        self.open = 0
        self.none_open = trio.Event()
        self.opened = 0
        self.turned_away: list[Bound] = []
        self.handshakes_failed: list[str] = []
        self.answered: list[tuple[str, int]] = []
        self.durations_s: list[float] = []
        self.refused: list[tuple[str, str]] = []
        self.failed: list[tuple[str, Exception]] = []

    def connection_opened(self) -> None:
        self.open += 1
        self.opened += 1

    def connection_closed(self) -> None:
        self.open -= 1
        if not self.open:
            self.none_open.set()

    def connection_turned_away(self, bound: Bound) -> None:
        self.turned_away.append(bound)

    def handshake_failed(self, reason: str) -> None:
        self.handshakes_failed.append(reason)

    def request_answered(self, head: object, route: str, status: int, duration_s: float) -> None:
        self.answered.append((route, status))
        self.durations_s.append(duration_s)

    def request_refused(self, code: str, route: str) -> None:
        self.refused.append((code, route))

    def request_failed(self, head: object, route: str, error: Exception) -> None:
        self.failed.append((route, error))
