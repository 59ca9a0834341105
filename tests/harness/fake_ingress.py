"""An ingress in memory: the calls of the worker protocol, one worker, no database, any fault on demand.

    async with open_fake_ingress() as ingress:
        attempt = ingress.give(["sh", "-c", "exit 3"])
        ingress.fault("starting", LoseAnswer(), Unavailable())
        ...                                        # run a worker against ingress.url
        completion = await ingress.wait_call("complete")

It speaks HTTP on a loopback port of the running event loop (trio or asyncio) and decodes with the message
types of the contracts. What it promised is in `attempts`; every request it saw, faulted or not, in `calls`.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Literal
from uuid import UUID, uuid4

import anyio
import h11
import msgspec
from anyio.abc import SocketAttribute, SocketStream

from tenure_contracts.error import Refusal
from tenure_contracts.identity import worker_token
from tenure_contracts.wire import codec
from tenure_contracts.wire import session as session_wire
from tenure_contracts.wire.completion import Complete, Completed
from tenure_contracts.wire.field import Instant
from tenure_contracts.wire.lease import (
    Activated,
    Fence,
    Renew,
    Renewed,
    RenewedLease,
    Running,
    StartFailure,
    Starting,
    Stop,
)
from tenure_contracts.wire.offer import (
    Decline,
    Declined,
    DeclinedLease,
    Offered,
    OfferedAttempt,
    OfferedLease,
    Plan,
    Pull,
    Pulled,
)
from tenure_contracts.wire.problem import problem

TOKEN = worker_token("fakeworker", bytes(range(32)))
LEASE_S = 30.0


@dataclass(frozen=True)
class Unavailable:
    """Answer 503 without doing anything."""

    code: str = "database_unavailable"
    retry_after_s: float = 0.0


@dataclass(frozen=True)
class Refuse:
    """Answer a refusal of the table without doing anything."""

    code: str


@dataclass(frozen=True)
class LoseAnswer:
    """Do it, then close the connection instead of answering."""


@dataclass(frozen=True)
class Hang:
    """Do nothing until `until` is set; then serve the request as usual."""

    until: anyio.Event


Fault = Unavailable | Refuse | LoseAnswer | Hang


@dataclass(frozen=True)
class Call:
    """One request as it arrived. `body` is the JSON object."""

    name: str
    session: UUID
    body: Mapping[str, Any]


@dataclass
class FakeAttempt:
    """One attempt and its lease. `status` is the attempt's; `holder` the session with the lease."""

    plan: Plan
    timeout_s: float | None = None
    input: Any = None
    attempt: UUID = field(default_factory=uuid4)
    run: UUID = field(default_factory=uuid4)
    status: str = "claimed"
    holder: UUID | None = None
    offer: UUID | None = None
    token: str = ""
    generation: int = 0
    version: int = 0
    deadline_at: Instant | None = None
    stop: Stop | None = None
    digests: dict[str, bytes] = field(default_factory=dict)
    completion: Complete | None = None
    start_failure: StartFailure | None = None

    @property
    def is_terminal(self) -> bool:
        return self.status in ("succeeded", "failed", "cancelled")


class FakeIngress:
    """The state, and one method per call. Tests read and change the state as they like."""

    def __init__(self) -> None:
        self.url = ""
        self.calls: list[Call] = []
        self.attempts: dict[UUID, FakeAttempt] = {}
        self.queue: deque[UUID] = deque()
        self.advice = session_wire.Advice(heartbeat_s=5.0, renew_s=0.2, lease_s=LEASE_S)
        self.retry_after_s = 0.02
        self.worker = "w1"
        self.session: UUID | None = None
        self.generation = 0
        self.is_offline = False
        self.draining: frozenset[str] = frozenset()
        """The calls whose answers say that an operator asked for a drain."""
        self.refused_credentials = 0
        self._fenced: set[UUID] = set()
        self._spent: dict[UUID, UUID] = {}
        self._faults: dict[str, deque[Fault]] = defaultdict(deque)
        self._changed = anyio.Event()

    # What a test does.

    def give(
        self,
        argv: Sequence[str],
        *,
        timeout_s: float | None = None,
        kill_grace_s: float = 5.0,
        input: Any = None,  # noqa: A002 - the word of the protocol
        **plan: Any,
    ) -> FakeAttempt:
        """Put one command into the queue. `plan` is more of the plan: env, cwd, stdin, executor, secrets."""
        facts = {"executor": "command", "log_limit_bytes": 4_194_304, **plan}
        whole = Plan(argv=tuple(argv), timeout_s=timeout_s, kill_grace_s=kill_grace_s, **facts)
        attempt = FakeAttempt(plan=whole, timeout_s=timeout_s, input=input)
        self.attempts[attempt.attempt] = attempt
        self.queue.append(attempt.attempt)
        return attempt

    def fault(self, name: str, *faults: Fault) -> None:
        """Let the next requests of one call go wrong, one fault each."""
        self._faults[name].extend(faults)

    def clear_faults(self) -> None:
        """Serve every further request as usual."""
        self._faults.clear()

    def stop(self, attempt: FakeAttempt, reason: Literal["user", "timeout", "policy"] = "user") -> None:
        """Ask for a stop; the next renewal delivers it."""
        attempt.stop = Stop(reason=reason, requested_at=_now())

    def settle_elsewhere(self, attempt: FakeAttempt) -> None:
        """End an attempt without its holder, as a cancellation does."""
        attempt.status = "cancelled"

    def take_away(self, attempt: FakeAttempt) -> None:
        """Give the attempt's lease to another worker."""
        attempt.generation += 1
        attempt.holder = None

    def fence_session(self) -> None:
        """Let another process of the worker's name replace the session."""
        assert self.session is not None
        self._fenced.add(self.session)

    def named(self, name: str) -> list[Call]:
        """The requests of one call so far."""
        return [call for call in self.calls if call.name == name]

    async def wait_call(self, name: str, count: int = 1) -> Call:
        """Wait until a call was made so many times, and return that request."""
        await self.wait_until(lambda: len(self.named(name)) >= count)
        return self.named(name)[count - 1]

    async def wait_until(self, condition: Callable[[], bool]) -> None:
        """Wait until something holds; looked at after every request. Ten seconds at most."""
        with anyio.fail_after(10):
            while not condition():
                changed = self._changed
                await changed.wait()

    # What a worker does.

    def check_credential(self, header: bytes) -> None:
        """Refuse whatever is not the one token."""
        if header != f"Bearer {TOKEN}".encode():
            self.refused_credentials += 1
            self._note_change()
            raise Refusal("credential_refused")

    async def handle(self, name: str, session: UUID, body: bytes) -> object | None:
        """Serve one request; None means: close the connection without an answer. Raises Refusal."""
        self.calls.append(Call(name, session, msgspec.json.decode(body)))
        fault = self._faults[name].popleft() if self._faults[name] else None
        self._note_change()
        match fault:
            case Unavailable(code, retry_after_s):
                raise Refusal(code, retry_after_s=retry_after_s)
            case Refuse(code):
                raise Refusal(code, retry_after_s=0.0)
            case Hang(until):
                await until.wait()
        answer = self._serve(name, session, body)
        self._note_change()
        return None if isinstance(fault, LoseAnswer) else answer

    def _serve(self, name: str, session: UUID, body: bytes) -> object:
        kind, method = self._table()[name]
        message: codec.Request = codec.decode(body, kind)
        if session in self._fenced and name != "complete":
            raise Refusal("session_fenced")
        return method(session, message)

    def _table(self) -> Mapping[str, tuple[type[codec.Request], Callable[[UUID, Any], object]]]:
        return {
            "register": (session_wire.Register, self._register),
            "heartbeat": (session_wire.Heartbeat, self._heartbeat),
            "drain": (session_wire.Drain, self._heartbeat),
            "offline": (session_wire.Offline, self._offline),
            "offers": (Pull, self._pull),
            "decline": (Decline, self._decline),
            "starting": (Starting, self._starting),
            "running": (Running, self._running),
            "start-failure": (StartFailure, self._start_failure),
            "renew": (Renew, self._renew),
            "complete": (Complete, self._complete),
        }

    def _register(self, session: UUID, message: session_wire.Register) -> object:
        if self.session is not None and session != self.session:
            if not (self.is_offline or message.takeover):
                raise Refusal("session_conflict", retry_after_s=0.05)
            self._fenced.add(self.session)
            for attempt in self.attempts.values():
                if attempt.holder == self.session and attempt.status == "claimed":
                    self._release(attempt)
        if session != self.session:
            self.session, self.generation, self.is_offline = session, self.generation + 1, False
        return session_wire.Registered(
            worker=self.worker,
            generation=self.generation,
            version=1,
            status="online",
            expires_at=_in(45),
            server_time=_now(),
            advice=self.advice,
        )

    def _heartbeat(self, session: UUID, message: session_wire.SessionRequest) -> object:
        return session_wire.SessionAnswer(
            generation=message.generation,
            version=2,
            status="online",
            expires_at=_in(45),
            server_time=_now(),
            advice=self.advice,
            drain_requested="heartbeat" in self.draining,
        )

    def _offline(self, session: UUID, message: session_wire.Offline) -> object:
        self.is_offline = True
        for attempt in self.attempts.values():
            if attempt.holder == session and attempt.status == "claimed":
                self._release(attempt)
        return self._heartbeat(session, message)

    def _pull(self, session: UUID, message: Pull) -> object:
        offered, settled = [], []
        for offer in message.offers:
            known = self._spent.get(offer.offer)
            if known is None and self.queue:
                attempt = self.attempts[self.queue.popleft()]
                self._claim(attempt, session, offer.offer, offer.token)
                offered.append(_offered(attempt))
            elif known is not None and self._holds(known, offer.offer):
                offered.append(_offered(self.attempts[known]))
            elif known is not None:
                settled.append(offer.offer)
        return Pulled(
            offered=tuple(offered),
            settled=tuple(settled),
            none=None if offered else "no_work",
            drain_requested="offers" in self.draining,
            retry_after_s=self.retry_after_s,
            server_time=_now(),
        )

    def _decline(self, session: UUID, message: Decline) -> object:
        return Declined(leases=tuple(self._decline_one(fence) for fence in message.leases))

    def _decline_one(self, fence: Fence) -> DeclinedLease:
        attempt = self.attempts[fence.attempt]
        if not self._holds(fence.attempt, fence.offer):
            return DeclinedLease(attempt=fence.attempt, status="fenced")
        self._release(attempt)
        return DeclinedLease(attempt=fence.attempt, status="released")

    def _starting(self, session: UUID, message: Starting) -> object:
        attempt = self._fenced_attempt(message.lease)
        status = self._replay(attempt, "starting", message)
        if status == "applied":
            if attempt.stop is not None:
                raise Refusal("stop_requested")
            attempt.status = "starting"
            attempt.deadline_at = _in(attempt.timeout_s) if attempt.timeout_s else None
        return self._activated(attempt, status)

    def _running(self, session: UUID, message: Running) -> object:
        attempt = self._fenced_attempt(message.lease)
        status = self._replay(attempt, "running", message)
        attempt.status = "running"
        return self._activated(attempt, status)

    def _start_failure(self, session: UUID, message: StartFailure) -> object:
        attempt = self._fenced_attempt(message.lease)
        status = self._replay(attempt, "end", message)
        attempt.status, attempt.start_failure = "failed", message
        return self._activated(attempt, status)

    def _renew(self, session: UUID, message: Renew) -> object:
        leases = tuple(self._renew_one(fence) for fence in message.leases)
        return Renewed(
            leases=leases,
            renew_s=self.advice.renew_s,
            drain_requested="renew" in self.draining,
            server_time=_now(),
        )

    def _renew_one(self, fence: Fence) -> RenewedLease:
        attempt = self.attempts[fence.attempt]
        if fence.lease_generation != attempt.generation or fence.token != attempt.token:
            return RenewedLease(attempt=fence.attempt, status="fenced", disposition="stop")
        if attempt.is_terminal:
            return RenewedLease(
                attempt=fence.attempt,
                status="terminal",
                terminal=attempt.status,
                disposition="settled" if attempt.completion else "stop",
            )
        attempt.version += 1
        return RenewedLease(
            attempt=fence.attempt,
            status="stop" if attempt.stop else "renewed",
            lease_version=attempt.version,
            expires_at=_in(LEASE_S),
            stop=attempt.stop,
        )

    def _complete(self, session: UUID, message: Complete) -> object:
        attempt = self.attempts.get(message.lease.attempt)
        if attempt is None:
            raise Refusal("unknown_attempt")
        if message.lease.token != attempt.token or message.lease.lease_generation != attempt.generation:
            raise Refusal("lease_fenced")
        if attempt.status == "claimed":
            raise Refusal("lease_not_started")
        status: str = "settled" if attempt.status == "cancelled" else self._replay(attempt, "end", message)
        if status == "applied":
            attempt.status, attempt.completion = message.outcome, message
        return Completed(
            status=status,  # type: ignore[arg-type]
            attempt_status=attempt.status,
            run_status=attempt.status,
            server_time=_now(),
        )

    def _fenced_attempt(self, fence: Fence) -> FakeAttempt:
        attempt = self.attempts[fence.attempt]
        if fence.token != attempt.token or fence.lease_generation != attempt.generation:
            raise Refusal("lease_fenced")
        if fence.lease_version > attempt.version:
            raise Refusal("invalid_field", "lease_version is ahead - at `$.lease.lease_version`")
        return attempt

    def _replay(
        self, attempt: FakeAttempt, key: str, message: codec.Request
    ) -> Literal["applied", "replayed"]:
        digest = codec.content_digest(message)
        stored = attempt.digests.setdefault(f"{key}/{attempt.generation}", digest)
        if stored != digest:
            raise Refusal("content_conflict")
        is_new = f"{key}!{attempt.generation}" not in attempt.digests
        attempt.digests[f"{key}!{attempt.generation}"] = digest
        return "applied" if is_new else "replayed"

    def _claim(self, attempt: FakeAttempt, session: UUID, offer: UUID, token: str) -> None:
        attempt.holder, attempt.offer, attempt.token = session, offer, token
        attempt.generation += 1
        attempt.version += 1
        self._spent[offer] = attempt.attempt

    def _holds(self, attempt: UUID, offer: UUID) -> bool:
        known = self.attempts[attempt]
        return known.offer == offer and known.holder is not None and not known.is_terminal

    def _release(self, attempt: FakeAttempt) -> None:
        attempt.holder, attempt.offer = None, None
        self.queue.append(attempt.attempt)

    def _activated(self, attempt: FakeAttempt, status: Literal["applied", "replayed"]) -> Activated:
        return Activated(
            status=status,
            attempt_status=attempt.status,
            run_status=attempt.status,
            lease_version=attempt.version,
            expires_at=_in(LEASE_S),
            deadline_at=attempt.deadline_at,
            stop=attempt.stop,
            server_time=_now(),
        )

    def _note_change(self) -> None:
        self._changed.set()
        self._changed = anyio.Event()


def _offered(attempt: FakeAttempt) -> Offered:
    assert attempt.offer is not None
    is_started = attempt.status != "claimed"
    return Offered(
        offer=attempt.offer,
        recovered=is_started,
        spawn=not is_started,
        attempt=OfferedAttempt(
            attempt=attempt.attempt,
            run=attempt.run,
            project="shop",
            task="report",
            revision=1,
            digest="0" * 43,
            number=1,
            try_=1,
            priority=5,
            status=attempt.status,
        ),
        lease=OfferedLease(
            lease_generation=attempt.generation,
            lease_version=attempt.version,
            acquired_at=_now(),
            expires_at=_in(LEASE_S),
        ),
        plan=attempt.plan,
        input=msgspec.Raw(msgspec.json.encode(attempt.input)),
    )


def _now() -> Instant:
    return Instant.of(datetime.now(UTC))


def _in(seconds: float) -> Instant:
    return Instant.of(datetime.now(UTC) + timedelta(seconds=seconds))


@asynccontextmanager
async def open_fake_ingress(*, port: int = 0) -> AsyncIterator[FakeIngress]:
    """Serve a fake ingress on loopback until the block ends."""
    ingress = FakeIngress()
    async with await anyio.create_tcp_listener(local_host="127.0.0.1", local_port=port) as listener:
        ingress.url = f"http://127.0.0.1:{listener.extra(SocketAttribute.local_port)}"
        async with anyio.create_task_group() as tasks:
            # The listener is bound already, so a connection that comes early waits for its turn.
            tasks.start_soon(  # noqa: ASYNC113
                listener.serve, lambda stream: _serve_connection(ingress, stream)
            )
            yield ingress
            tasks.cancel_scope.cancel()


async def _serve_connection(ingress: FakeIngress, stream: SocketStream) -> None:
    async with stream:
        try:
            while await _serve_request(ingress, stream):
                pass
        except (anyio.BrokenResourceError, anyio.EndOfStream, h11.RemoteProtocolError):
            return  # the worker went away, which is its right


async def _serve_request(ingress: FakeIngress, stream: SocketStream) -> bool:
    connection = h11.Connection(h11.SERVER)
    request, body = await _read_request(connection, stream)
    if request is None:
        return False
    _, _, _, session, name = request.target.decode().split("/")
    headers = [("Content-Type", "application/json")]
    try:
        ingress.check_credential(dict(request.headers).get(b"authorization", b""))
        answer = await ingress.handle(name, UUID(session), body)
        status = 200
    except Refusal as refusal:
        answer, status = problem(refusal), refusal.status
        if refusal.retry_after_s is not None:
            headers.append(("Retry-After", f"{refusal.retry_after_s:g}"))
    if answer is None:
        return False
    await _send(connection, stream, status, headers, codec.encode(answer))
    return True


async def _read_request(connection: h11.Connection, stream: SocketStream) -> tuple[h11.Request | None, bytes]:
    request: h11.Request | None = None
    body = b""
    while True:
        event = connection.next_event()
        if event is h11.NEED_DATA:
            connection.receive_data(await stream.receive())
        elif isinstance(event, h11.Request):
            request = event
        elif isinstance(event, h11.Data):
            body += bytes(event.data)
        else:
            return request, body


async def _send(
    connection: h11.Connection,
    stream: SocketStream,
    status: int,
    headers: list[tuple[str, str]],
    content: bytes,
) -> None:
    response = h11.Response(status_code=status, headers=[*headers, ("Content-Length", str(len(content)))])
    parts = [connection.send(event) for event in (response, h11.Data(data=content), h11.EndOfMessage())]
    await stream.send(b"".join(part for part in parts if part))
