"""What only real sockets show: options, addresses, answers that survive a close, TLS."""

from __future__ import annotations

import os
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import h11
import pytest
import trio
import trustme

from tenure_http import Limits, Request, Response, Route, Router, Service, serve
from tenure_http.tls import TlsError, TlsListener, TlsMaterial, TlsSwitch
from tests.http.stage import Client, RecordingObserver, echo, echo_route, get, post

BIG = 8 * 1024 * 1024


async def show_peer(request: Request) -> Response:
    return Response(200, request.peer.encode())


async def send_much(request: Request) -> Response:
    return Response(200, b"a" * BIG)


ROUTES = (
    echo_route(),
    Route("peer", "GET", "/peer", show_peer),
    Route("big", "POST", "/big", echo, body_bytes=BIG),
    Route("much", "GET", "/much", send_much),
)


@asynccontextmanager
async def on_sockets(
    switch: TlsSwitch | None = None, limits: Limits | None = None, observer: RecordingObserver | None = None
) -> AsyncIterator[tuple[Service, int]]:
    """A server on a port of the loopback, with TLS when there is a switch."""
    [tcp] = await trio.open_tcp_listeners(0, host="127.0.0.1")
    listener = tcp if switch is None else TlsListener(tcp, switch)
    async with trio.open_nursery() as nursery:
        service = await nursery.start(
            partial(serve, [listener], Router(ROUTES), limits=limits, observer=observer)
        )
        yield service, tcp.socket.getsockname()[1]
        nursery.cancel_scope.cancel()


async def test_requests_over_a_socket() -> None:
    async with on_sockets() as (_, port), await trio.open_tcp_stream("127.0.0.1", port) as stream:
        client = Client(stream)
        assert (await client.ask(post(body=b"[1]"))).body == b"[1]"
        assert (await client.ask(get("/peer"))).body == b"127.0.0.1"


async def test_large_bodies_pass_both_ways() -> None:
    async with on_sockets() as (_, port), await trio.open_tcp_stream("127.0.0.1", port) as stream:
        client = Client(stream)
        assert len((await client.ask(post("/big", body=b"b" * BIG))).body) == BIG
        assert len((await client.ask(get("/much"))).body) == BIG


async def test_accepted_sockets_do_not_wait_to_fill_packets(monkeypatch: pytest.MonkeyPatch) -> None:
    accepted: list[trio.SocketStream] = []
    accept = trio.SocketListener.accept

    async def remember(listener: trio.SocketListener) -> trio.SocketStream:
        accepted.append(await accept(listener))
        return accepted[-1]

    monkeypatch.setattr(trio.SocketListener, "accept", remember)
    async with on_sockets() as (_, port), await trio.open_tcp_stream("127.0.0.1", port) as stream:
        await Client(stream).ask(post())
        assert accepted[0].getsockopt(trio.socket.IPPROTO_TCP, trio.socket.TCP_NODELAY)


async def test_a_refusal_reaches_a_peer_that_is_still_sending() -> None:
    async with on_sockets() as (_, port), await trio.open_tcp_stream("127.0.0.1", port) as stream:
        client = Client(stream)
        await client.tell(post(body=b"a" * 100_000, length=str(10**9)))
        answer = await client.hear()
        assert (answer.code, answer.closes) == ("content_too_large", True)


async def test_a_reset_connection_is_no_fault(caplog: pytest.LogCaptureFixture) -> None:
    observer = RecordingObserver()
    async with on_sockets(observer=observer) as (_, port):
        stream = await trio.open_tcp_stream("127.0.0.1", port)
        await Client(stream).ask(post())
        # Linger of zero: close sends RST.
        stream.setsockopt(trio.socket.SOL_SOCKET, trio.socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        await stream.aclose()
        with trio.fail_after(5):
            await observer.none_open.wait()
    assert caplog.text == ""
    assert (observer.opened, observer.open) == (1, 0)


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


def material(
    folder: Path, authority: trustme.CA, *, name: str = "localhost", mutual: bool = False
) -> TlsMaterial:
    certificate, key, ca = folder / f"{name}.crt", folder / f"{name}.key", folder / "ca.crt"
    issued = authority.issue_cert(name)
    issued.private_key_pem.write_to_path(str(key))
    for index, blob in enumerate(issued.cert_chain_pems):
        blob.write_to_path(str(certificate), append=index > 0)
    authority.cert_pem.write_to_path(str(ca))
    return TlsMaterial(certificate, key, ca if mutual else None)


def client_context(authority: trustme.CA) -> ssl.SSLContext:
    context = ssl.create_default_context()
    authority.configure_trust(context)
    return context


async def connect_tls(
    port: int, context: ssl.SSLContext, name: str = "localhost"
) -> trio.SSLStream[trio.SocketStream]:
    stream = await trio.open_tcp_stream("127.0.0.1", port)
    return trio.SSLStream(stream, context, server_hostname=name, https_compatible=True)


async def test_requests_over_tls(tmp_path: Path, authority: trustme.CA) -> None:
    async with (
        on_sockets(TlsSwitch(material(tmp_path, authority))) as (_, port),
        await connect_tls(port, client_context(authority)) as stream,
    ):
        client = Client(stream)
        assert (await client.ask(post(body=b"[1]"))).body == b"[1]"
        assert (await client.ask(get("/peer"))).body == b"127.0.0.1"
        assert stream.version() == "TLSv1.3"


async def test_no_session_can_be_resumed(tmp_path: Path, authority: trustme.CA) -> None:
    async with (
        on_sockets(TlsSwitch(material(tmp_path, authority))) as (_, port),
        await connect_tls(port, client_context(authority)) as stream,
    ):
        await Client(stream).ask(post())  # tickets come with the first answer
        assert not stream.session.has_ticket


async def test_a_connection_over_the_bound_is_closed_before_its_handshake(
    tmp_path: Path, authority: trustme.CA
) -> None:
    observer = RecordingObserver()
    switch = TlsSwitch(material(tmp_path, authority))
    async with (
        on_sockets(switch, Limits(connections=1), observer) as (_, port),
        await connect_tls(port, client_context(authority)) as first,
    ):
        await Client(first).ask(post())
        async with await trio.open_tcp_stream("127.0.0.1", port) as second:
            with trio.fail_after(1):
                assert await second.receive_some(1) == b""
        assert (await Client(first).ask(post())).status == 200
    assert observer.turned_away == ["connections"]


async def test_an_older_tls_is_refused(tmp_path: Path, authority: trustme.CA) -> None:
    context = client_context(authority)
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    async with on_sockets(TlsSwitch(material(tmp_path, authority))) as (_, port):
        stream = await connect_tls(port, context)
        with pytest.raises(trio.BrokenResourceError):
            await stream.do_handshake()
        await trio.aclose_forcefully(stream)


async def test_a_client_certificate_is_required_with_a_client_ca(
    tmp_path: Path, authority: trustme.CA
) -> None:
    observer = RecordingObserver()
    switch = TlsSwitch(material(tmp_path, authority, mutual=True))
    async with on_sockets(switch, observer=observer) as (_, port):
        context = client_context(authority)
        stream = await connect_tls(port, context)
        with pytest.raises((trio.BrokenResourceError, h11.RemoteProtocolError)):
            await Client(stream).ask(post())
        await trio.aclose_forcefully(stream)
        assert observer.handshakes_failed == ["PEER_DID_NOT_RETURN_A_CERTIFICATE"]
        authority.issue_cert("worker").configure_cert(context)
        async with await connect_tls(port, context) as stream:
            assert (await Client(stream).ask(post())).status == 200


async def test_plain_http_on_a_tls_port_gets_no_further(tmp_path: Path, authority: trustme.CA) -> None:
    observer = RecordingObserver()
    switch = TlsSwitch(material(tmp_path, authority))
    async with (
        on_sockets(switch, observer=observer) as (_, port),
        await trio.open_tcp_stream("127.0.0.1", port) as stream,
    ):
        with pytest.raises((trio.BrokenResourceError, h11.RemoteProtocolError)):
            await Client(stream).ask(post())
    assert (observer.open, observer.answered) == (0, [])


async def test_a_handshake_that_never_comes_is_cut(tmp_path: Path, authority: trustme.CA) -> None:
    limits = Limits(header_time_s=0.1, sweep_s=0.05)
    async with (
        on_sockets(TlsSwitch(material(tmp_path, authority)), limits) as (_, port),
        await trio.open_tcp_stream("127.0.0.1", port) as stream,
    ):
        with trio.fail_after(5):
            assert await stream.receive_some(1) == b""


async def test_new_connections_get_the_new_certificate(tmp_path: Path, authority: trustme.CA) -> None:
    switch = TlsSwitch(material(tmp_path, authority))
    async with on_sockets(switch) as (_, port), await connect_tls(port, client_context(authority)) as old:
        assert (await Client(old).ask(post())).status == 200
        switch.replace(material(tmp_path, authority, name="other.test"))
        async with await connect_tls(port, client_context(authority), "other.test") as new:
            assert (await Client(new).ask(post())).status == 200
        assert (await Client(old).ask(post())).status == 200


def test_bad_material_is_named_and_changes_nothing(tmp_path: Path, authority: trustme.CA) -> None:
    good = material(tmp_path, authority)
    other = material(tmp_path, authority, name="other.test")
    switch = TlsSwitch(good)
    before = switch.context
    garbage = tmp_path / "garbage.pem"
    garbage.write_text("nothing")
    for bad in (
        TlsMaterial(tmp_path / "absent.crt", good.key),
        TlsMaterial(good.certificate, tmp_path / "absent.key"),
        TlsMaterial(good.certificate, other.key),
        TlsMaterial(garbage, good.key),
        TlsMaterial(good.certificate, good.key, garbage),
        TlsMaterial(good.certificate, good.key, tmp_path / "absent.ca"),
    ):
        with pytest.raises(TlsError, match=r"absent|other\.test|garbage"):
            switch.replace(bad)
    assert switch.context is before


async def test_a_stop_resets_nobody_who_has_connected() -> None:
    """They stand in the listener's queue, each with a request sent, when the stop begins."""
    async with on_sockets() as (service, port):
        queued = [socket.create_connection(("127.0.0.1", port)) for _ in range(30)]
        for each in queued:
            each.sendall(post(body=b"[1]"))
        assert (await service.stop(5)).complete
        for each in queued:
            with each:
                answer = each.recv(65536)
                assert answer.startswith(b"HTTP/1.1 200")
                assert answer.endswith(b"[1]")
                assert b"onnection: close" in answer


async def test_a_stop_reads_what_has_arrived_on_an_idle_connection() -> None:
    async with on_sockets() as (service, port):
        streams = [await trio.open_tcp_stream("127.0.0.1", port) for _ in range(30)]
        idle = [Client(stream) for stream in streams]
        for client in idle:
            await client.ask(post())
        for stream in streams:  # all at once: nothing else has its turn before the stop
            os.write(stream.socket.fileno(), post(body=b"[1]"))
        assert (await service.stop(5)).complete
        for client in idle:
            assert (await client.hear()).body == b"[1]"
            await client.stream.aclose()
