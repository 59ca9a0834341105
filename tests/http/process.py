"""A server in a process of its own, so that its memory can be measured: `python -m tests.http.process`.

Its clients are plain blocking sockets. They come from many addresses of the loopback, as peers of a fleet do:
one address has neither ports nor places enough.
"""

from __future__ import annotations

import json
import resource
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import trio

from tenure_http import Limits, Request, Response, Route, Router, Service, serve
from tenure_http.tls import TlsListener, TlsMaterial, TlsSwitch
from tests.http.stage import echo, get, post

PATIENCE_S = 120.0
BODY_BYTES = 1024 * 1024
KIB = 1024


@dataclass(frozen=True)
class ServerProcess:
    """A process that serves on `port` of every address of the loopback."""

    pid: int
    port: int

    def connect(self, number: int = 0) -> socket.socket:
        """A connection of the peer `number`; peers have 200 addresses."""
        host = f"127.0.0.{number % 200 + 2}"
        return socket.create_connection(("127.0.0.1", self.port), PATIENCE_S, (host, 0))

    def ask(self, data: bytes) -> tuple[int, bytes]:
        """The status and the body of the answer to a request on a connection of its own."""
        with self.connect() as peer:
            peer.sendall(data)
            return hear(peer)

    def state(self) -> dict[str, int]:
        """Connections (without this one's), requests in flight and waiting, and calls of the handler."""
        state: dict[str, int] = json.loads(self.ask(get("/state"))[1])
        return state

    def wait_until(self, **expected: int) -> dict[str, int]:
        """Asks for the state until it is as expected."""
        return self.wait_for(lambda state: state | expected == state)

    def wait_for(self, condition: Callable[[dict[str, int]], bool]) -> dict[str, int]:
        """Asks for the state until it meets a condition."""
        deadline = time.monotonic() + PATIENCE_S
        while not condition(state := self.state()):
            assert time.monotonic() < deadline, state
            time.sleep(0.01)
        return state

    @property
    def rss_bytes(self) -> int:
        """What the process has in memory now."""
        return self._status_bytes("VmRSS")

    @property
    def peak_bytes(self) -> int:
        """What it had in memory at most."""
        return self._status_bytes("VmHWM")

    def _status_bytes(self, name: str) -> int:
        lines = Path(f"/proc/{self.pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) * KIB for line in lines if line.startswith(f"{name}:"))


def hear(peer: socket.socket) -> tuple[int, bytes]:
    """One answer: its status and its body."""
    data = b""
    while b"\r\n\r\n" not in data:
        data += _more(peer)
    head, _, body = data.partition(b"\r\n\r\n")
    length = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
    while len(body) < length:
        body += _more(peer)
    return int(head[9:12]), body


def _more(peer: socket.socket) -> bytes:
    data = peer.recv(65536)
    if not data:
        raise EOFError
    return data


@contextmanager
def server_process(material: TlsMaterial | None = None, /, **limits: float) -> Iterator[ServerProcess]:
    """A server with `limits`, over TLS when there is material, until the block ends."""
    files = [str(material.certificate), str(material.key)] if material else []
    command = [sys.executable, "-m", "tests.http.process", json.dumps(limits), *files]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield ServerProcess(process.pid, int(process.stdout.readline()))
        finally:
            process.terminate()


@contextmanager
def many_descriptors() -> Iterator[None]:
    """As many open files as this process may have."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@contextmanager
def peers(
    server: ServerProcess, count: int, context: ssl.SSLContext | None = None
) -> Iterator[list[socket.socket]]:
    """That many connections, from many addresses."""
    crowd: list[socket.socket] = []
    try:
        for number in range(count):
            peer = server.connect(number)
            crowd.append(peer if context is None else context.wrap_socket(peer, server_hostname="localhost"))
        yield crowd
    finally:
        for peer in crowd:
            peer.close()


def ask_all(crowd: list[socket.socket], data: bytes = b"") -> list[int]:
    """The statuses of the answers to one request on each connection, a few at a time."""
    statuses = []
    for start in range(0, len(crowd), 50):
        few = crowd[start : start + 50]
        for peer in few:
            peer.sendall(data or post())
        statuses += [hear(peer)[0] for peer in few]
    return statuses


class _Handlers:
    """What the process answers; `service` is set before the first request."""

    service: Service

    def __init__(self) -> None:
        self.calls = 0
        self._never = trio.Event()

    def routes(self) -> tuple[Route, ...]:
        return (
            Route("echo", "POST", "/echo", self.echo, body_bytes=BODY_BYTES),
            Route("wait", "POST", "/wait", self.wait, body_bytes=BODY_BYTES),
            Route("state", "GET", "/state", self.state, counted=False),
        )

    async def echo(self, request: Request) -> Response:
        self.calls += 1
        return await echo(request)

    async def wait(self, request: Request) -> Response:
        async with request.waiting():
            await self._never.wait()
        return await echo(request)

    async def state(self, request: Request) -> Response:
        service = self.service
        state: dict[str, Any] = {"connections": service.connections - 1, "calls": self.calls}
        return Response(
            200,
            json.dumps({**state, "in_flight": service.in_flight, "waiting": service.waiting}).encode(),
        )


async def _main(limits: Limits, files: list[str]) -> None:
    [tcp] = await trio.open_tcp_listeners(0, host="127.0.0.1", backlog=4096)
    handlers = _Handlers()
    switch = TlsSwitch(TlsMaterial(*map(Path, files))) if files else None
    listener = TlsListener(tcp, switch) if switch else tcp
    async with trio.open_nursery() as nursery:
        run = partial(serve, [listener], Router(handlers.routes()), limits=limits)
        handlers.service = await nursery.start(run)
        print(tcp.socket.getsockname()[1], flush=True)


if __name__ == "__main__":
    with many_descriptors():
        trio.run(_main, Limits(**json.loads(sys.argv[1])), sys.argv[2:])
