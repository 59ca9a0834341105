"""What all connections of a server share: its limits, the requests in flight, and whether it is ending."""

from __future__ import annotations

import trio

from tenure_contracts.error import Refusal
from tenure_http.limits import Limits
from tenure_http.route import Route


class Traffic:
    """Counts requests in flight: past their header, answer not yet written."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.in_flight = 0
        self.draining = False
        self._waiting = trio.lowlevel.ParkingLot()

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
        if not self.in_flight:
            self._waiting.unpark_all()

    async def wait_until_quiet(self) -> None:
        """Returns at a moment when no counted request is in flight."""
        while self.in_flight:
            await self._waiting.park()
