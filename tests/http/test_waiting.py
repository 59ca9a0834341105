"""Requests that wait for something outside, over real sockets: a peer that leaves takes them with it."""

from __future__ import annotations

import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import pytest
import trio
import trio.testing
import trustme

from tenure_http import Head, Limits, Request, Response, Router, Service, serve
from tenure_http.tls import TlsListener, TlsSwitch
from tests.http.stage import Client, RecordingObserver, echo, echo_route, post, route
from tests.http.test_socket import client_context, material

PATIENCE_S = 5.0
RESET = b"\1\0\0\0\0\0\0\0"  # SO_LINGER on, zero seconds: close sends RST


@dataclass
class Pull:
    """A handler that waits for `work`, and says what became of it."""

    work: trio.Event = field(default_factory=trio.Event)
    begun: trio.Event = field(default_factory=trio.Event)
    ended: trio.Event = field(default_factory=trio.Event)
    outcomes: list[str] = field(default_factory=list)

    async def handle(self, request: Request) -> Response:
        outcome = "cancelled"
        try:
            async with request.waiting():
                self.begun.set()
                await self.work.wait()
            outcome = "done"
        finally:
            self.outcomes.append(outcome)
            self.ended.set()
        return await echo(request)


@dataclass
class Server:
    """What serves, what it was heard saying, and how to reach it."""

    service: Service
    observer: RecordingObserver
    pull: Pull
    connect: Callable[[], Awaitable[trio.SocketStream | trio.SSLStream[trio.SocketStream]]]

    async def waiting_client(self) -> Client:
        """A client whose request waits by now."""
        client = Client(await self.connect())
        await client.tell(post("/try"))
        with trio.fail_after(PATIENCE_S):
            await self.pull.begun.wait()
        return client

    async def wait_gone(self) -> None:
        """Returns when the handler was cancelled and nothing of the connection is left; nothing was said."""
        with trio.fail_after(PATIENCE_S):
            await self.pull.ended.wait()
            await self.observer.none_open.wait()
        assert self.pull.outcomes == ["cancelled"]
        assert (self.observer.answered, self.observer.refused, self.observer.failed) == ([], [], [])
        assert (self.service.connections, self.service.in_flight, self.service.waiting) == (0, 0, 0)


@asynccontextmanager
async def serving(
    switch: TlsSwitch | None = None, context: ssl.SSLContext | None = None, limits: Limits | None = None
) -> AsyncIterator[Server]:
    [tcp] = await trio.open_tcp_listeners(0, host="127.0.0.1")
    listener = tcp if switch is None else TlsListener(tcp, switch)
    port = tcp.socket.getsockname()[1]
    observer, pull = RecordingObserver(), Pull()

    async def connect() -> trio.SocketStream | trio.SSLStream[trio.SocketStream]:
        stream = await trio.open_tcp_stream("127.0.0.1", port)
        if context is None:
            return stream
        return trio.SSLStream(stream, context, server_hostname="localhost", https_compatible=True)

    async with trio.open_nursery() as nursery:
        router = Router([echo_route(), route(pull.handle)])
        service = await nursery.start(partial(serve, [listener], router, limits=limits, observer=observer))
        yield Server(service, observer, pull, connect)
        nursery.cancel_scope.cancel()


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@asynccontextmanager
async def serving_tls(folder: Path, authority: trustme.CA) -> AsyncIterator[Server]:
    switch = TlsSwitch(material(folder, authority))
    async with serving(switch, client_context(authority)) as server:
        yield server


def socket_of(client: Client) -> trio.SocketStream:
    stream = client.stream
    if isinstance(stream, trio.SSLStream):
        stream = stream.transport_stream
    assert isinstance(stream, trio.SocketStream)
    return stream


async def close(client: Client) -> None:
    """FIN, and with TLS no close_notify, as browsers and most libraries do."""
    await trio.aclose_forcefully(client.stream)


async def reset(client: Client) -> None:
    socket_of(client).setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
    await trio.aclose_forcefully(client.stream)


async def half_close(client: Client) -> None:
    await socket_of(client).send_eof()


async def send_more_and_close(client: Client) -> None:
    await client.tell(post() * 3)
    await close(client)


LEAVING = (close, reset, half_close, send_more_and_close)


@pytest.mark.parametrize("leave", LEAVING)
async def test_a_peer_that_leaves_takes_its_request_with_it(
    leave: Callable[[Client], Awaitable[None]], caplog: pytest.LogCaptureFixture
) -> None:
    async with serving() as server:
        client = await server.waiting_client()
        await leave(client)
        await server.wait_gone()
        await trio.aclose_forcefully(client.stream)
    assert caplog.text == ""


async def close_with_notice(client: Client) -> None:
    """close_notify and nothing else: the peer waits for ours."""
    stream = client.stream
    assert isinstance(stream, trio.SSLStream)
    with suppress(ssl.SSLWantReadError):
        stream._ssl_object.unwrap()
    await socket_of(client).send_all(stream._outgoing.read())


@pytest.mark.parametrize("leave", [*LEAVING, close_with_notice])
async def test_a_peer_that_leaves_over_tls_takes_its_request_with_it(
    leave: Callable[[Client], Awaitable[None]],
    tmp_path: Path,
    authority: trustme.CA,
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with serving_tls(tmp_path, authority) as server:
        client = await server.waiting_client()
        await leave(client)
        await server.wait_gone()
        await trio.aclose_forcefully(client.stream)
    assert caplog.text == ""


async def test_what_was_waited_for_is_answered_and_the_connection_goes_on() -> None:
    async with serving() as server:
        client = await server.waiting_client()
        assert (server.service.in_flight, server.service.waiting) == (0, 1)
        server.pull.work.set()
        assert (await client.hear()).status == 200
        for _ in range(3):
            answer = await client.ask(post("/try", body=b"[1]"))
            assert (answer.status, answer.closes) == (200, False)
        assert (server.service.in_flight, server.service.waiting) == (0, 0)
        await client.stream.aclose()


@pytest.mark.parametrize("with_tls", [False, True])
async def test_a_successor_that_comes_meanwhile_is_never_looked_at(
    with_tls: bool, tmp_path: Path, authority: trustme.CA
) -> None:
    async with serving_tls(tmp_path, authority) if with_tls else serving() as server:
        client = await server.waiting_client()
        await client.tell(post(body=b"[2]"))
        await trio.testing.wait_all_tasks_blocked()  # on the loopback what was sent has arrived
        server.pull.work.set()
        answer = await client.hear()
        assert (answer.status, answer.closes) == (200, True)
        assert await client.is_closed()
        assert server.observer.answered == [("try", 200)]
        await client.stream.aclose()


async def test_a_request_without_a_connection_just_waits() -> None:
    head = Head("POST", "/try", "/try", "", {}, "", 0, False, True)
    pull = Pull()
    pull.work.set()
    assert (await pull.handle(Request(head, "try", {}, b"x"))).body == b"x"
