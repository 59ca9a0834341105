"""Peers that send without end or read nothing: the server's memory does not grow with what they send."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from select import select

import pytest

from tests.http.process import KIB, ServerProcess, hear, many_descriptors, peers, server_process
from tests.http.stage import get, post

PEERS = 60
EACH_BYTES = 1024 * KIB
CHUNKED = post("/echo", body=b"", length="", extra=["Transfer-Encoding: chunked"])

# What each peer begins with, and what it sends from then on.
ENDLESS = {
    "header of one line": (get("/")[:-2] + b"X: ", b"a" * 65536),
    "header of many lines": (get("/")[:-2], b"X:\r\n" * 16384),
    "target": (b"GET /", b"a" * 65536),
    "method": (b"", b"G" * 65536),
    "NUL bytes": (b"", b"\0" * 65536),
    "tiny chunks": (CHUNKED, b"1\r\na\r\n" * 10_000),
    "chunk extension": (CHUNKED + b"1;", b"a" * 65536),
    "trailers": (CHUNKED + b"0\r\n", b"X:\r\n" * 16384),
    "announced body beyond the bound": (post("/echo", body=b"", length="99999999"), b"a" * 65536),
    "requests without a wait for answers": (b"", post() * 500),
    "data while a request waits": (post("/wait"), b"a" * 65536),
}


@pytest.fixture(scope="module")
def server() -> Iterator[ServerProcess]:
    with many_descriptors(), server_process(in_flight_body_bytes=1024 * KIB) as server:
        yield server


def flood(crowd: list[socket.socket], first: bytes, then: bytes) -> None:
    """Sends as fast as each peer's connection takes it, round and round, until it breaks or was enough."""
    for peer in crowd:
        peer.sendall(first)
        peer.setblocking(False)
    for _ in range(EACH_BYTES // len(then)):
        crowd = [peer for peer in crowd if _send(peer, then)]


def _send(peer: socket.socket, data: bytes) -> bool:
    try:
        peer.send(data)
    except BlockingIOError:
        pass  # The server takes no more for now.
    except ConnectionError:
        return False
    return True


@pytest.mark.parametrize(("first", "then"), ENDLESS.values(), ids=ENDLESS.keys())
def test_memory_does_not_grow_with_what_is_sent(server: ServerProcess, first: bytes, then: bytes) -> None:
    before = server.rss_bytes
    with peers(server, PEERS) as crowd:
        flood(crowd, first, then)
        assert server.ask(post(body=b"[1]")) == (200, b"[1]"), "others are served meanwhile"
    server.wait_until(connections=0, in_flight=0, waiting=0)
    # 16 KiB of header twice and one read of 64 KiB, where 60 MiB were on offer.
    assert server.peak_bytes - before < PEERS * 128 * KIB


def test_bodies_together_are_bounded(server: ServerProcess) -> None:
    part, fit = 100 * KIB, 10
    with peers(server, PEERS) as crowd:
        for peer in crowd:
            peer.sendall(post("/echo", body=b"", length=str(2 * part)))
        server.wait_until(in_flight=PEERS)
        for peer in crowd:
            peer.sendall(b"a" * part)
        left = server.wait_for(lambda state: state["in_flight"] <= fit)["in_flight"]
        assert left > 0
        assert server.ask(post())[0] == 200
        answers = [hear(peer) for peer in crowd if select([peer], [], [], 0)[0]]
        assert [status for status, _ in answers] == [503] * (PEERS - left)
    server.wait_until(connections=0, in_flight=0)
