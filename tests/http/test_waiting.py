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

from tenure_contracts.error import Refusal
from tenure_http import Drained, Head, Limits, Request, Response, Router, Service, serve
from tenure_http.tls import TlsListener, TlsSwitch
from tests.http.stage import Client, RecordingObserver, echo, echo_route, on_stage, post, route
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
    opened: list[trio.SocketStream] = []

    async def connect() -> trio.SocketStream | trio.SSLStream[trio.SocketStream]:
        stream = await trio.open_tcp_stream("127.0.0.1", port)
        opened.append(stream)
        if context is None:
            return stream
        return trio.SSLStream(stream, context, server_hostname="localhost", https_compatible=True)

    async with trio.open_nursery() as nursery:
        router = Router([echo_route(), route(pull.handle)])
        service = await nursery.start(partial(serve, [listener], router, limits=limits, observer=observer))
        yield Server(service, observer, pull, connect)
        nursery.cancel_scope.cancel()
    for stream in opened:
        stream.socket.close()


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@asynccontextmanager
async def serving_tls(
    folder: Path, authority: trustme.CA, limits: Limits | None = None
) -> AsyncIterator[Server]:
    switch = TlsSwitch(material(folder, authority))
    async with serving(switch, client_context(authority), limits) as server:
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


@pytest.mark.parametrize("with_tls", [False, True])
async def test_a_successor_that_comes_meanwhile_is_never_looked_at(
    with_tls: bool, tmp_path: Path, authority: trustme.CA
) -> None:
    limits = Limits(linger_time_s=0.1)
    run = serving_tls(tmp_path, authority, limits) if with_tls else serving(limits=limits)
    async with run as server:
        client = await server.waiting_client()
        await client.tell(post(body=b"[2]"))
        await trio.testing.wait_all_tasks_blocked()  # on the loopback what was sent has arrived
        server.pull.work.set()
        answer = await client.hear()
        assert (answer.status, answer.closes) == (200, True)
        assert await client.is_closed()
        assert server.observer.answered == [("try", 200)]


async def test_a_request_without_a_connection_just_waits() -> None:
    head = Head("POST", "/try", "/try", "", {}, "", 0, False, True)
    pull = Pull()
    pull.work.set()
    assert (await pull.handle(Request(head, "try", {}, b"x"))).body == b"x"


async def test_what_waits_is_not_in_flight() -> None:
    async with serving(limits=Limits(in_flight=1)) as server:
        clients = [await server.waiting_client() for _ in range(3)]
        other = Client(await server.connect())
        assert (await other.ask(post())).status == 200
        await other.tell(post(body=b"", length="2"))
        await trio.testing.wait_all_tasks_blocked()
        assert (server.service.in_flight, server.service.waiting) == (1, 3)
        refused = Client(await server.connect())
        assert (await refused.ask(post("/try"))).code == "overloaded"
        server.pull.work.set()
        assert [(await client.hear()).status for client in clients] == [200] * 3, "they were let in before"


async def test_leaving_as_the_wait_ends_is_leaving() -> None:
    for _ in range(10):  # the order of two tasks in one turn is random
        async with serving() as server:
            client = await server.waiting_client()
            socket_of(client).socket.close()
            server.pull.work.set()
            await server.wait_gone()


async def test_what_the_block_raises_comes_out_as_it_is() -> None:
    async def give_up(request: Request) -> Response:
        async with request.waiting():
            raise Refusal("draining")

    async with on_stage([route(give_up)]) as stage:
        client = stage.connect()
        for _ in range(2):
            assert (await client.ask(post("/try"))).code == "draining"
        assert (stage.service.in_flight, stage.service.waiting) == (0, 0)


async def test_a_drain_waits_for_what_waits(autojump_clock: trio.abc.Clock) -> None:
    pull, outcomes = Pull(), list[Drained]()
    async with on_stage([route(pull.handle)]) as stage, trio.open_nursery() as nursery:
        client = stage.connect()
        await client.tell(post("/try"))
        await pull.begun.wait()

        async def drain() -> None:
            outcomes.append(await stage.service.drain(10))

        start = trio.current_time()
        nursery.start_soon(drain)
        await trio.sleep(9)
        assert outcomes == []
        pull.work.set()
        answer = await client.hear()
        assert (answer.status, answer.closes) == (200, True)
    assert outcomes == [Drained()]
    assert trio.current_time() - start == pytest.approx(9), "and no longer"


async def test_a_wait_beyond_the_budget_of_a_stop_is_cut_and_named(autojump_clock: trio.abc.Clock) -> None:
    pull = Pull()
    async with on_stage([route(pull.handle)]) as stage:
        client = stage.connect()
        await client.tell(post("/try"))
        await pull.begun.wait()
        assert await stage.service.stop(3) == Drained({"try": 1})
        assert await client.is_closed()
    assert pull.outcomes == ["cancelled"]


async def test_a_peer_that_leaves_during_a_drain_is_waited_for_no_longer(
    autojump_clock: trio.abc.Clock,
) -> None:
    pull = Pull()
    async with on_stage([route(pull.handle)]) as stage, trio.open_nursery() as nursery:
        client = stage.connect()
        await client.tell(post("/try"))
        await pull.begun.wait()
        nursery.start_soon(stage.service.drain, 10)
        await trio.sleep(1)
        await client.stream.aclose()
        start = trio.current_time()
        assert await stage.service.drain(10) == Drained()
        assert trio.current_time() == start


async def test_a_wait_may_outlive_every_deadline_of_its_connection(autojump_clock: trio.abc.Clock) -> None:
    pull = Pull()
    async with on_stage([route(pull.handle)], limits=Limits(age_s=100)) as stage:
        client = stage.connect()
        await client.tell(post("/try"))
        await trio.sleep(1000)
        assert pull.outcomes == []
        pull.work.set()
        answer = await client.hear()
        assert (answer.status, answer.closes) == (200, True)


async def test_cancelling_the_server_cancels_what_waits() -> None:
    async with serving() as server:
        await server.waiting_client()
    assert server.pull.outcomes == ["cancelled"]
    assert (server.service.connections, server.service.in_flight, server.service.waiting) == (0, 0, 0)


async def test_cancelling_the_server_before_the_watch_had_its_first_turn() -> None:
    async with serving() as server:
        await Client(await server.connect()).tell(post("/try"))
        await server.pull.begun.wait()  # set by the handler in the turn in which it begins to wait
    assert server.pull.outcomes == ["cancelled"]
    assert (server.service.connections, server.service.in_flight, server.service.waiting) == (0, 0, 0)


async def test_a_peer_that_sends_without_end_is_taken_for_gone() -> None:
    async with serving() as server:
        client = await server.waiting_client()
        with pytest.raises(trio.BrokenResourceError), trio.fail_after(PATIENCE_S):
            await client.tell(b"a" * 64 * 1024 * 1024)
        await server.wait_gone()
