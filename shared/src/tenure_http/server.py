"""The service: listeners, connections, the sweeper, and an end that says what it left."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import trio

from tenure_http.accept import keep_accepting
from tenure_http.connection import Connection
from tenure_http.encoding import encode
from tenure_http.limits import Limits
from tenure_http.message import new_request_id
from tenure_http.observer import LogObserver, Observer
from tenure_http.place import Bound, Places, origin_of, turned_away
from tenure_http.problem import problem
from tenure_http.route import Admit
from tenure_http.traffic import Traffic
from tenure_http.transport import BROKEN, Transport, transport_over

_log = logging.getLogger("tenure_http")

_TURNED_AWAY_AT_ONCE: Final = 64


@dataclass(frozen=True, slots=True)
class Drained:
    """How a drain ended: the requests that did not finish within the budget, by the name of their route."""

    left: Mapping[str, int] = field(default_factory=dict)

    @property
    def complete(self) -> bool:
        """Whether every request in flight was answered."""
        return not self.left


class Service:
    """A server that runs. Made by `serve`; holds no nursery."""

    def __init__(
        self,
        listeners: Sequence[trio.abc.Listener[Any]],
        admit: Admit,
        limits: Limits,
        observer: Observer,
    ) -> None:
        self.listeners: Final = tuple(listeners)
        self._admit = admit
        self._limits = limits
        self._observer = observer
        self._traffic = Traffic(limits)
        self._connections: set[Connection] = set()
        self._places = Places(limits)
        self._turning_away = 0
        self._budget_s = 0.0
        self._stop_wanted = trio.Event()
        self._accepted_all = trio.Event()
        self._stopped = trio.Event()
        self._cut: Counter[str] = Counter()
        self._outcome = Drained(self._cut)

    @property
    def connections(self) -> int:
        """Connections that are open."""
        return len(self._connections)

    @property
    def in_flight(self) -> int:
        """Counted requests past their header that are not answered yet and do not wait."""
        return self._traffic.in_flight

    @property
    def waiting(self) -> int:
        """Counted requests that wait for something outside."""
        return self._traffic.waiting

    def retire_connections(self) -> None:
        """Every connection of now answers its current or next request with `Connection: close`.

        None is cut: an idle one answers one more request, or is closed when its idle time is over.
        """
        for connection in self._connections:
            connection.retire()

    async def drain(self, budget_s: float) -> Drained:
        """Waits for the requests in flight or waiting, at most `budget_s`, while the listeners stay open.

        From now on every answer says `Connection: close` and an idle connection is closed. New requests are
        still given to `admit`, which is the place to refuse them. A second drain waits on its own; cancelling
        one ends that wait and nothing else.
        """
        self._traffic.draining = True
        # What has arrived is read first: two turns, because tasks of one turn run in any order.
        for _ in range(2):
            await trio.lowlevel.checkpoint()
        for connection in self._connections:
            connection.close_if_idle()
        with trio.move_on_after(budget_s):
            await self._traffic.wait_until_quiet()
        return self._left()

    async def stop(self, budget_s: float) -> Drained:
        """Stops accepting, drains within `budget_s`, cuts what is left, and returns once all is closed.

        The first call decides the budget; concurrent and later calls get the same outcome. Cancelling a
        caller ends its wait, never the stop.
        """
        if not self._stop_wanted.is_set():
            self._budget_s = budget_s
            self._stop_wanted.set()
        await self._stopped.wait()
        return self._outcome

    async def run(self, task_status: trio.TaskStatus[Service]) -> Drained:
        """The life of the service: `serve` calls it once."""
        try:
            async with trio.open_nursery() as nursery:
                accepting = trio.CancelScope()
                nursery.start_soon(self._sweep)
                await nursery.start(self._accept, accepting, nursery)
                task_status.started(self)
                await self._stop_wanted.wait()
                self._traffic.draining = True
                accepting.cancel()
                await self._accepted_all.wait()
                await self.drain(self._budget_s)
                nursery.cancel_scope.cancel()
        finally:
            self._stopped.set()
        return self._outcome

    async def _accept(
        self, scope: trio.CancelScope, nursery: trio.Nursery, *, task_status: trio.TaskStatus[Any]
    ) -> None:
        await keep_accepting(self.listeners, self._welcome, nursery, scope, task_status=task_status)
        self._accepted_all.set()

    async def _sweep(self) -> None:
        """The only clock of all connections: looks at every deadline once per interval."""
        while True:
            await trio.sleep(self._limits.sweep_s)
            now = trio.current_time()
            for connection in self._connections:
                if connection.deadline <= now:
                    connection.expire()

    async def _welcome(self, stream: trio.abc.Stream) -> None:
        try:
            transport = transport_over(stream)
            origin = origin_of(transport.peer)
            bound = self._places.bound_met(origin)
            if bound is None:
                await self._converse(transport, origin)
            else:
                await self._turn_away(transport, bound)
        except BROKEN:
            pass  # The peer is gone, in the middle or at the end; there is nobody to tell.
        except Exception:  # noqa: BLE001 - see below; it is logged
            # A bug in the server itself costs the connection it met, never the others.
            _log.exception("a connection failed")

    async def _converse(self, transport: Transport, origin: str) -> None:
        connection = Connection(self._traffic, self._admit, self._observer, transport)
        self._connections.add(connection)
        self._places.take(origin)
        self._observer.connection_opened()
        try:
            await connection.run()
        except (trio.Cancelled, BaseExceptionGroup):  # a group when the handler has a nursery
            if connection.is_in_flight:
                self._cut[connection.label] += 1
            raise
        finally:
            self._connections.discard(connection)
            self._places.give_back(origin)
            self._observer.connection_closed()

    async def _turn_away(self, transport: Transport, bound: Bound) -> None:
        self._observer.connection_turned_away(bound)
        # A handshake would cost what is lacking, and beyond a handful so does waiting for the peer to read.
        if isinstance(transport.stream, trio.SSLStream) or self._turning_away >= _TURNED_AWAY_AT_ONCE:
            return
        self._turning_away += 1
        try:
            response = problem(turned_away(bound), new_request_id())
            with trio.move_on_after(self._limits.linger_time_s):
                await transport.send(encode(response, close=True))
            await transport.linger(self._limits.linger_time_s)
        finally:
            self._turning_away -= 1

    def _left(self) -> Drained:
        return Drained(Counter(each.label for each in self._connections if each.is_in_flight))


async def serve(
    listeners: Sequence[trio.abc.Listener[Any]],
    admit: Admit,
    *,
    limits: Limits | None = None,
    observer: Observer | None = None,
    task_status: trio.TaskStatus[Service] = trio.TASK_STATUS_IGNORED,
) -> Drained:
    """Serves HTTP/1.1 on `listeners` until the `Service` it starts with is stopped.

    `admit` decides about each request before its body is read; a `Router` is one. The listeners are bound by
    the caller and closed here. Returns what `Service.stop` returns. Cancelling it cuts every connection.

    Raises:
        OSError: a listener failed for another reason than a shortage, which is waited out.
    """
    service = Service(listeners, admit, limits or Limits(), observer or LogObserver())
    return await service.run(task_status)
