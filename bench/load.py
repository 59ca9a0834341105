"""The load generator: a process of its own that keeps one request in flight on each of its connections.

`python -m bench.load` reads a `Plan` as JSON and writes a `Tally` as JSON. Requests are made beforehand, one
for each connection, and the loop does as little as can be, so that what is measured is the server. No answer
goes unread: each must be a 200 with the expected number of renewed leases, and now and then one is read as
the JSON it claims to be.
"""

from __future__ import annotations

import json
import os
import select
import socket
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from statistics import quantiles

import msgspec

READ_EVERY = 500
"""One of so many answers is decoded whole."""

LOST_S = 10.0
"""A server that answers nothing for so long is broken."""

RECEIVE_BYTES = 1 << 20
RENEWED = b'"status":"renewed"'


class Plan(msgspec.Struct, frozen=True):
    """What to send where: one request for each connection, each about `leases` leases."""

    host: str
    port: int
    requests: Sequence[bytes]
    leases: int
    warm_up_s: float
    seconds: float
    cores: frozenset[int]


class Tally(msgspec.Struct, frozen=True):
    """What was answered in `seconds`, after the warm-up. Latencies are of one request; `cpu_s` is ours."""

    answers: int
    seconds: float
    cpu_s: float
    p50_ms: float
    p99_ms: float


class WrongAnswerError(Exception):
    """An answer that is not the renewal that was asked for."""


@dataclass(slots=True)
class Conversation:
    """One connection and its only request, sent again as soon as it is answered."""

    connection: socket.socket
    request: bytes
    leases: int
    sent_at: float = 0.0
    received: bytes = b""

    def send(self) -> None:
        """Send the request. It is small, and nothing else is in the socket's buffer."""
        self.received = b""
        self.sent_at = time.perf_counter()
        self.connection.sendall(self.request)

    def receive(self) -> bool:
        """Take what arrived; whether the answer is whole. Raises WrongAnswerError for a wrong one."""
        data = self.connection.recv(RECEIVE_BYTES)
        if not data:
            raise WrongAnswerError(f"the server closed a connection after {self.received!r}")
        self.received += data
        body = self.received.find(b"\r\n\r\n") + 4
        if body < 4 or len(self.received) < body + _length(self.received, body):
            return False
        if not self.received.startswith(b"HTTP/1.1 200 ") or self.received.count(RENEWED) != self.leases:
            raise WrongAnswerError(self.received.decode(errors="replace"))
        return True

    def read(self) -> None:
        """Decode the answer. Raises WrongAnswerError when it is another one than its bytes made believe."""
        answer = json.loads(self.received.partition(b"\r\n\r\n")[2])
        asked = json.loads(self.request.partition(b"\r\n\r\n")[2])
        renewed = [lease["attempt"] for lease in answer["leases"] if lease["status"] == "renewed"]
        if renewed != [lease["attempt"] for lease in asked["leases"]]:
            raise WrongAnswerError(f"{renewed} is not what was to be renewed")


def _length(received: bytes, body: int) -> int:
    begin = received.index(b"Content-Length: ", 0, body) + 16
    return int(received[begin : received.index(b"\r\n", begin)])


@dataclass
class Load:
    """The loop over all conversations."""

    conversations: dict[int, Conversation]
    poll: select.epoll
    latencies_s: list[float] = field(default_factory=list)

    def run(self, seconds: float) -> float:
        """Answer after answer for so long; how long it was."""
        began = now = time.perf_counter()
        while now - began < seconds:
            events = self.poll.poll(LOST_S)
            if not events:
                raise WrongAnswerError(f"no answer for {LOST_S} s")
            for descriptor, _ in events:
                conversation = self.conversations[descriptor]
                if conversation.receive():
                    self._take(conversation)
            now = time.perf_counter()
        return now - began

    def _take(self, conversation: Conversation) -> None:
        self.latencies_s.append(time.perf_counter() - conversation.sent_at)
        if len(self.latencies_s) % READ_EVERY == 0:
            conversation.read()
        conversation.send()


def run(plan: Plan) -> Tally:
    """Carry the plan out. Raises WrongAnswerError, and OSError when the server cannot be reached."""
    os.sched_setaffinity(0, plan.cores)
    with ExitStack() as stack:
        load = Load(dict(_conversations(plan, stack)), stack.enter_context(select.epoll()))
        for descriptor, conversation in load.conversations.items():
            load.poll.register(descriptor, select.EPOLLIN)
            conversation.send()
        load.run(plan.warm_up_s)
        load.latencies_s.clear()
        cpu_s = time.process_time()
        seconds = load.run(plan.seconds)
        return _tally(load.latencies_s, seconds, time.process_time() - cpu_s)


def _conversations(plan: Plan, stack: ExitStack) -> Iterator[tuple[int, Conversation]]:
    for request in plan.requests:
        connection = stack.enter_context(socket.create_connection((plan.host, plan.port), LOST_S))
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        yield connection.fileno(), Conversation(connection, request, plan.leases)


def _tally(latencies_s: list[float], seconds: float, cpu_s: float) -> Tally:
    percentiles = quantiles(latencies_s, n=100)
    return Tally(len(latencies_s), seconds, cpu_s, percentiles[49] * 1000, percentiles[98] * 1000)


if __name__ == "__main__":
    sys.stdout.buffer.write(msgspec.json.encode(run(msgspec.json.decode(sys.stdin.buffer.read(), type=Plan))))
