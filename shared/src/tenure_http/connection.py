"""One connection: requests one after another, each read whole, handled, and answered before the next is read.

    IDLE -> HEAD -> HANDLING -> BODY -> HANDLING -> ANSWERING -> IDLE

A phase in which we wait for the peer has a deadline, kept as a number that the sweeper compares; the scope is
one for the whole connection. HANDLING has no deadline here: handlers know theirs.

A handler that waits for something outside says so (`Request.waiting`). Only then the peer is watched: when
it goes away nobody needs the answer, and the handler is cancelled. A handler that works is never cut by its
peer.

A request that arrives together with its successor is answered with `Connection: close`, and the successor is
never looked at: one request at a time, and no doubt about which answer belongs to what.
"""

from __future__ import annotations

import math
import random
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from enum import Enum, auto

import trio

from tenure_contracts.error import Refusal
from tenure_http.encoding import CONTINUE, encode
from tenure_http.head import check_body
from tenure_http.message import Head, Request, Response, new_request_id
from tenure_http.observer import Observer
from tenure_http.parser import RequestParser
from tenure_http.problem import problem
from tenure_http.route import Admit, Match, Route
from tenure_http.traffic import Traffic
from tenure_http.transport import RECEIVE_BYTES, Transport
from tenure_http.watch import PeerWatch


class Phase(Enum):
    """What a connection waits for."""

    IDLE = auto()
    HEAD = auto()
    BODY = auto()
    HANDLING = auto()
    ANSWERING = auto()


class After(Enum):
    """What becomes of a connection after an answer. LINGER: the peer may still be sending."""

    KEEP = auto()
    CLOSE = auto()
    LINGER = auto()


_NO_ROUTE = "-"


class Connection:
    """Serves one transport. `deadline` is trio time; whoever finds it passed calls `expire`."""

    def __init__(self, traffic: Traffic, admit: Admit, observer: Observer, transport: Transport) -> None:
        limits = traffic.limits
        now = trio.current_time()
        spread = random.uniform(1 - limits.age_jitter, 1 + limits.age_jitter)  # noqa: S311 - a spread
        self.phase = Phase.IDLE
        self.deadline = now + limits.header_time_s
        self.serving: Route | None = None
        self._close_after = now + limits.age_s * spread
        self._started = now
        self._held_bytes = 0
        self._surplus = False
        self._scope = trio.CancelScope()
        self._traffic = traffic
        self._limits = limits
        self._admit = admit
        self._observer = observer
        self._transport = transport

    async def run(self) -> None:
        """Serves requests until one side ends the connection.

        Raises what a broken transport raises. Cancelling it cancels the handler that runs.
        """
        after = After.CLOSE
        with self._scope:
            after = await self._converse()
        if self._scope.cancelled_caught and self.phase in {Phase.HEAD, Phase.BODY}:
            after = await self._refuse_late()
        if after is After.LINGER:
            await self._transport.linger(self._limits.linger_time_s)

    @property
    def label(self) -> str:
        """The name of the route that is served, for metrics and logs."""
        return self.serving.name if self.serving else _NO_ROUTE

    @property
    def is_in_flight(self) -> bool:
        """Whether a counted request is past its header and not answered yet."""
        return self.serving is not None and self.serving.counted

    def expire(self) -> None:
        """Ends what the connection waits for; a half-arrived request is answered `request_timeout`."""
        self._scope.cancel()

    def close_if_idle(self) -> None:
        """Closes the connection unless a request has begun to arrive."""
        if self.phase is Phase.IDLE:
            self._scope.cancel()

    def retire(self) -> None:
        """The next answer is the last."""
        self._close_after = -math.inf

    async def _converse(self) -> After:
        await self._shake_hands()
        after = After.KEEP
        while after is After.KEEP:
            after = await self._serve_one()
        return after

    async def _shake_hands(self) -> None:
        try:
            await self._transport.shake_hands(self._traffic.handshakes)
        except trio.BrokenResourceError as error:
            if isinstance(error.__cause__, ssl.SSLError):
                self._observer.handshake_failed(error.__cause__.reason or "")
            raise

    async def _serve_one(self) -> After:
        parser = RequestParser(self._limits, self._transport.peer)
        try:
            head = await self._read_head(parser)
        except Refusal as refusal:
            return await self._refuse(refusal, None)
        if head is None:
            return After.CLOSE
        try:
            match = self._decide(head)
        except Refusal as refusal:
            return await self._refuse(refusal, head, intact=parser.body_is_here(head))
        return await self._serve_admitted(parser, head, match)

    async def _serve_admitted(self, parser: RequestParser, head: Head, match: Match) -> After:
        self.serving = match.route
        self._traffic.enter(match.route)
        try:
            after = await self._exchange(parser, head, match)
        finally:
            self._traffic.let_go(self._held_bytes)
            self._held_bytes = 0
            self._traffic.leave(match.route)
        # Not when it was cut: whoever counts what a stop left finds it here.
        self.serving = None
        return after

    async def _exchange(self, parser: RequestParser, head: Head, match: Match) -> After:
        try:
            body = await self._read_body(parser, match.route.body_bytes)
        except Refusal as refusal:
            return await self._refuse(refusal, head)
        request = Request(head, match.route.name, match.parameters, body, self._wait)
        response = await self._handle(match, request)
        has_more = self._surplus or parser.has_tail
        return await self._answer(response, head, After.LINGER if has_more else After.KEEP)

    async def _read_head(self, parser: RequestParser) -> Head | None:
        data = await self._receive()
        if not data:
            return None
        self._started = trio.current_time()
        while (head := parser.receive_head(data)) is None:
            if self.phase is Phase.IDLE:
                self._enter(Phase.HEAD, self._started + self._limits.header_time_s)
            data = await self._receive()
        self._enter(Phase.HANDLING, math.inf)
        return head

    async def _read_body(self, parser: RequestParser, body_bytes: int) -> bytes:
        body = parser.receive_body(None, body_bytes)
        if body is None:
            self._enter(Phase.BODY, trio.current_time() + self._limits.body_time_s)
            if parser.peer_awaits_continue:
                await self._transport.send(CONTINUE)
        while body is None:
            data = await self._receive()
            self._held_bytes += len(data)
            self._traffic.hold(len(data))
            body = parser.receive_body(data, body_bytes)
        self._enter(Phase.HANDLING, math.inf)
        return body

    async def _receive(self) -> bytes | bytearray:
        data = await self._transport.receive(RECEIVE_BYTES)
        # Data and deadline may arrive together. Without this the cancellation would reach the handler.
        if self._scope.cancel_called:
            await trio.lowlevel.checkpoint()
        return data

    def _decide(self, head: Head) -> Match:
        try:
            match = self._admit(head)
            check_body(head, match.route)
            self._traffic.check_room(match.route)
        except Refusal:
            raise
        except Exception as error:
            self._observer.request_failed(head, self.label, error)
            raise Refusal("internal_error") from error
        return match

    async def _handle(self, match: Match, request: Request) -> Response:
        try:
            return await match.route.handler(request)
        except Refusal as refusal:
            self._observer.request_refused(refusal.code, self.label)
            return problem(refusal, request.id)
        except Exception as error:  # noqa: BLE001 - a handler's bug ends its request, never the process
            self._observer.request_failed(request.head, self.label, error)
            self._observer.request_refused("internal_error", self.label)
            return problem(Refusal("internal_error"), request.id)

    @asynccontextmanager
    async def _wait(self) -> AsyncIterator[None]:
        route, watch = self.serving, PeerWatch(self._transport, self._scope.cancel)
        assert route is not None
        self._traffic.rest(route)
        try:
            async with watch:
                yield
        finally:
            self._traffic.resume(route)
            self._surplus |= watch.surplus_bytes > 0
        if watch.is_gone:
            await trio.lowlevel.checkpoint()  # It left as the wait ended: nothing is begun for nobody.

    async def _refuse(self, refusal: Refusal, head: Head | None, *, intact: bool = False) -> After:
        self._observer.request_refused(refusal.code, self.label)
        response = problem(refusal, head.id if head else new_request_id())
        return await self._answer(response, head, After.KEEP if intact else After.LINGER)

    async def _refuse_late(self) -> After:
        with trio.move_on_after(self._limits.linger_time_s):
            after = await self._refuse(Refusal("request_timeout"), None)
            self.serving = None
            return after
        return After.CLOSE

    async def _answer(self, response: Response, head: Head | None, after: After) -> After:
        now = trio.current_time()
        ends = head is None or not head.keep_alive or self._traffic.draining or now >= self._close_after
        if after is After.KEEP and ends:
            after = After.CLOSE
        self._enter(Phase.ANSWERING, now + self._limits.answer_time_s)
        with_body = head is None or head.method != "HEAD"
        await self._transport.send(encode(response, close=after is not After.KEEP, with_body=with_body))
        self._observer.request_answered(head, self.label, response.status, now - self._started)
        self._enter(Phase.IDLE, now + self._limits.idle_time_s)
        # A drain that began while the answer was written found nothing idle here.
        return After.CLOSE if after is After.KEEP and self._traffic.draining else after

    def _enter(self, phase: Phase, deadline: float) -> None:
        self.phase = phase
        self.deadline = deadline
