"""What all connections of a server share: its limits, the requests it has, and whether it is ending."""

from __future__ import annotations

import trio

from tenure_contracts.error import Refusal
from tenure_http.limits import Limits
from tenure_http.route import Route


class Traffic:
    """Counts requests past their header whose answer is not written: in flight, or waiting.

    The bound is on what is in flight, which costs time and memory. What waits costs its connection, and has
    the bound of connections.
    """

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.in_flight = 0
        self.waiting = 0
        self.held_bytes = 0
        self.draining = False
        self.handshakes = trio.Semaphore(limits.handshakes)
        self._quiet = trio.lowlevel.ParkingLot()

    def check_room(self, route: Route) -> None:
        """Whether one more request of `route` may enter.

        Raises:
            Refusal: `overloaded`.
        """
        if route.counted and self.in_flight >= self.limits.in_flight:
            raise Refusal("overloaded", "Too many requests are in flight.")

    def enter(self, route: Route) -> None:
        """One request of `route` is in flight."""
        self.in_flight += route.counted

    def leave(self, route: Route) -> None:
        """It is not any more."""
        self.in_flight -= route.counted
        if not self.in_flight and not self.waiting:
            self._quiet.unpark_all()

    def hold(self, size: int) -> None:
        """So many bytes of a body arrived. They count until `let_go`, also when this raises.

        Raises:
            Refusal: `overloaded`.
        """
        self.held_bytes += size
        if self.held_bytes > self.limits.in_flight_body_bytes:
            raise Refusal("overloaded", "Too many bytes of bodies are in flight.")

    def let_go(self, size: int) -> None:
        """So many bytes are not held any more."""
        self.held_bytes -= size

    def rest(self, route: Route) -> None:
        """One request in flight waits from here on."""
        self.in_flight -= route.counted
        self.waiting += route.counted

    def resume(self, route: Route) -> None:
        """It goes on. It was let in before, so that the bound may be exceeded for a while."""
        self.waiting -= route.counted
        self.in_flight += route.counted

    async def wait_until_quiet(self) -> None:
        """Returns at a moment when no counted request is in flight or waits."""
        while self.in_flight or self.waiting:
            await self._quiet.park()
