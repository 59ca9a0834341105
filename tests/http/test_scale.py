"""A server process under many connections: all are served, and each costs a bounded amount of memory."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
import trustme

from tests.http.process import KIB, ServerProcess, ask_all, hear, many_descriptors, peers, server_process
from tests.http.stage import get, post
from tests.http.test_socket import client_context, material

# A slow machine takes longer to bring the peers than they may be silent.
PATIENT = {"header_time_s": 300, "idle_time_s": 300}


@pytest.fixture(autouse=True)
def descriptors() -> Iterator[None]:
    with many_descriptors():
        yield


def kib_each(server: ServerProcess, before: int, count: int) -> float:
    return (server.rss_bytes - before) / count / KIB


def warm_up(server: ServerProcess) -> int:
    """The memory of a process that has served already."""
    with peers(server, 100) as crowd:
        ask_all(crowd)
    return server.rss_bytes


@pytest.mark.parametrize("count", [1000, pytest.param(9900, marks=pytest.mark.slow)])
def test_idle_and_waiting_connections_cost_little_and_others_are_served(count: int) -> None:
    with server_process(**PATIENT) as server:
        before = warm_up(server)
        with peers(server, count) as crowd:
            assert set(ask_all(crowd)) == {200}
            server.wait_until(connections=count)
            assert kib_each(server, before, count) < 20
            assert [server.ask(post())[0] for _ in range(20)] == [200] * 20
            for peer in crowd:  # all of them are still there
                peer.sendall(post("/wait"))
            server.wait_until(waiting=count, connections=count, in_flight=0)
            assert kib_each(server, before, count) < 25
            assert server.ask(post())[0] == 200
        server.wait_until(waiting=0, connections=0, in_flight=0)


@pytest.mark.parametrize("count", [100, pytest.param(1500, marks=pytest.mark.slow)])
def test_idle_connections_over_tls(count: int, tmp_path: Path) -> None:
    authority = trustme.CA()
    context = client_context(authority)
    with server_process(material(tmp_path, authority), **PATIENT) as server:
        with peers(server, 10, context) as crowd:
            ask_all(crowd)
        before = server.rss_bytes
        with peers(server, count, context) as crowd:
            assert set(ask_all(crowd)) == {200}
            assert kib_each(server, before, count) < 60


@pytest.mark.parametrize("count", [400, pytest.param(20_000, marks=pytest.mark.slow)])
def test_short_connections_are_all_answered(count: int) -> None:
    request = post(extra=["Connection: close"])
    with server_process() as server:
        answered = 0
        for start in range(0, count, 200):
            few = [server.connect(number) for number in range(start, start + 200)]
            for peer in few:
                peer.sendall(request)
            answered += [_last_words(peer) for peer in few].count(200)
        assert answered == count
        server.wait_until(connections=0, calls=count, in_flight=0, waiting=0)


def _last_words(peer: socket.socket) -> int:
    with peer:
        status, _ = hear(peer)
        assert peer.recv(1) == b""
    return status


def test_a_crowd_over_the_bound_is_turned_away_and_costs_nothing() -> None:
    with server_process(connections=50) as server:
        with peers(server, 50) as held:
            assert set(ask_all(held)) == {200}
            before = server.rss_bytes
            for _ in range(5):
                with peers(server, 50):
                    pass
            assert set(ask_all(held)) == {200}
            assert server.rss_bytes - before < 1024 * KIB
        assert server.ask(get("/state"))[0] == 200
