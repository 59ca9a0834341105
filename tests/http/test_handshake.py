"""TLS handshakes of a crowd: few compute in one turn of the scheduler, and nobody waits for the silent."""

from __future__ import annotations

import socket
import ssl
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
import trio
import trio.testing
import trustme

from tenure_http import Limits, Router, serve
from tenure_http.tls import TlsListener, TlsSwitch
from tests.http.stage import Client, MemoryListener, RecordingObserver, echo_route, post
from tests.http.test_socket import client_context, connect_tls, material, on_sockets


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
def switch(tmp_path: Path, authority: trustme.CA) -> TlsSwitch:
    return TlsSwitch(material(tmp_path, authority))


@pytest.fixture
def crowd() -> Iterator[list[socket.socket]]:
    """Sockets of peers; closed at the end."""
    sockets: list[socket.socket] = []
    yield sockets
    for each in sockets:
        each.close()


def join(crowd: list[socket.socket], port: int, count: int) -> None:
    crowd += [socket.create_connection(("127.0.0.1", port)) for _ in range(count)]


def hello(context: ssl.SSLContext) -> bytes:
    """The first flight of a client."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = context.wrap_bio(incoming, outgoing, server_hostname="localhost")
    with pytest.raises(ssl.SSLWantReadError):
        client.do_handshake()
    return outgoing.read()


async def test_silent_and_slow_peers_do_not_hold_up_a_handshake(
    switch: TlsSwitch, authority: trustme.CA, crowd: list[socket.socket]
) -> None:
    limits = Limits(handshakes=1, header_time_s=60)
    first_flight = hello(client_context(authority))
    async with on_sockets(switch, limits) as (service, port):
        join(crowd, port, 60)
        for slow in crowd[20:40]:
            slow.sendall(first_flight[:20])
        for stuck in crowd[40:]:  # has the server's answer, and never says the last word
            stuck.sendall(first_flight)
        await trio.testing.wait_all_tasks_blocked()
        assert service.connections == 60
        with trio.fail_after(5):
            async with await connect_tls(port, client_context(authority)) as stream:
                assert (await Client(stream).ask(post())).status == 200
                for slow in crowd[20:40]:
                    slow.sendall(first_flight[20:21])
                assert (await Client(stream).ask(post())).status == 200


class Turns(trio.abc.Instrument):
    """Numbers the scheduler's turns."""

    def __init__(self) -> None:
        self.number = 0

    def before_io_wait(self, timeout: float) -> None:
        self.number += 1


async def test_of_a_crowd_that_arrives_at_once_few_compute_in_one_turn(
    switch: TlsSwitch, authority: trustme.CA, crowd: list[socket.socket]
) -> None:
    turns, computed = Turns(), Counter[int]()

    def count(*_: object) -> None:
        computed[turns.number] += 1

    switch.context.sni_callback = count
    context = client_context(authority)
    flights = [hello(context) for _ in range(20)]
    trio.lowlevel.add_instrument(turns)
    async with on_sockets(switch, Limits(handshakes=2)) as (service, port):
        join(crowd, port, 20)
        await trio.testing.wait_all_tasks_blocked()
        assert service.connections == 20
        for peer, flight in zip(crowd, flights, strict=True):
            peer.sendall(flight)
        await trio.testing.wait_all_tasks_blocked()
    trio.lowlevel.remove_instrument(turns)
    assert computed.total() == 20
    assert max(computed.values()) == 2


async def test_a_handshake_that_fails_or_is_cut_gives_its_turn_back(
    switch: TlsSwitch, authority: trustme.CA, crowd: list[socket.socket]
) -> None:
    observer = RecordingObserver()
    limits = Limits(handshakes=1, header_time_s=0.2, sweep_s=0.05)
    first_flight = hello(client_context(authority))
    async with on_sockets(switch, limits, observer) as (service, port):
        join(crowd, port, 9)
        for index, peer in enumerate(crowd):
            peer.sendall((post(), first_flight, b"\x16\x03\x01")[index % 3])
        await trio.testing.wait_all_tasks_blocked()
        with trio.fail_after(5):
            await observer.none_open.wait()
        assert service._traffic.handshakes.value == 1
        async with await connect_tls(port, client_context(authority)) as stream:
            assert (await Client(stream).ask(post())).status == 200


async def test_a_peer_that_takes_no_answer_holds_no_turn(switch: TlsSwitch, authority: trustme.CA) -> None:
    context = client_context(authority)
    memory = MemoryListener(trio.testing.lockstep_stream_pair)
    run = partial(serve, [TlsListener(memory, switch)], Router([echo_route()]), limits=Limits(handshakes=1))
    async with trio.open_nursery() as nursery:
        await nursery.start(run)
        stuck = memory.connect()
        await stuck.tell(hello(context))  # and nobody reads what the server says to that
        await trio.testing.wait_all_tasks_blocked()
        stream = trio.SSLStream(memory.connect().stream, context, server_hostname="localhost")
        with trio.fail_after(5):
            assert (await Client(stream).ask(post())).status == 200
        nursery.cancel_scope.cancel()
