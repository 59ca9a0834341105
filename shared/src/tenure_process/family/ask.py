"""The smallest client of HTTP: one question to a process of ours, one answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import h11
import trio

from tenure_http.transport import BROKEN

ANSWER_S: Final = 1.0
"""An event loop that takes longer is stuck, or has far too much to do."""

ANSWER_BYTES: Final = 4 * 1024 * 1024

_READ_BYTES: Final = 64 * 1024


@dataclass(frozen=True)
class Answer:
    """Status and body."""

    status: int
    body: bytes


async def ask(port: int, path: str, *, method: str = "GET", timeout_s: float = ANSWER_S) -> Answer | None:
    """Ask the process that listens on this loopback port; None when it did not answer in time."""
    with trio.move_on_after(timeout_s):
        try:
            async with await trio.open_tcp_stream("127.0.0.1", port) as stream:
                return await _converse(stream, method, path)
        except (*BROKEN, h11.RemoteProtocolError):
            return None
    return None


async def _converse(stream: trio.SocketStream, method: str, path: str) -> Answer:
    client = h11.Connection(h11.CLIENT)
    question = h11.Request(method=method, target=path, headers=[("Host", "parent"), ("Connection", "close")])
    await stream.send_all(client.send(question) + client.send(h11.EndOfMessage()))
    status, body = 0, b""
    while not isinstance(event := client.next_event(), h11.EndOfMessage):
        if event is h11.NEED_DATA:
            client.receive_data(await stream.receive_some(_READ_BYTES))
        elif isinstance(event, h11.Response):
            status = event.status_code
        elif isinstance(event, h11.Data):
            body += event.data
            if len(body) > ANSWER_BYTES:
                raise h11.RemoteProtocolError("the answer is too long")
    return Answer(status, body)
