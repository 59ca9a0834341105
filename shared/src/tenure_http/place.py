"""Places for connections: how many there are, and how many of them one peer may take."""

from __future__ import annotations

import socket
from collections import Counter
from typing import Final, Literal

from tenure_contracts.error import Refusal
from tenure_http.limits import Limits

Bound = Literal["connections", "peer"]
"""Which bound a connection met that was turned away: a label of metrics."""

_MAPPED: Final = bytes(10) + b"\xff\xff"


class Places:
    """Counts open connections, all and by origin. Without an address there is no bound but that of all."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._taken = 0
        self._by_origin: Counter[str] = Counter()

    def bound_met(self, origin: str) -> Bound | None:
        """The bound that one more connection from `origin` would exceed, or None."""
        if self._taken >= self._limits.connections:
            return "connections"
        if origin and self._by_origin[origin] >= self._limits.connections_per_peer:
            return "peer"
        return None

    def take(self, origin: str) -> None:
        """A connection from `origin` is open."""
        self._taken += 1
        self._by_origin[origin] += 1

    def give_back(self, origin: str) -> None:
        """It is closed."""
        self._taken -= 1
        self._by_origin[origin] -= 1
        if not self._by_origin[origin]:
            del self._by_origin[origin]


def origin_of(peer: str) -> str:
    """Whom the address `peer` counts for.

    An IPv4 address counts for itself, also when it comes mapped into IPv6. An IPv6 address counts for its
    /64: that much one host usually has to itself, and choosing among its addresses costs it nothing.
    """
    if ":" not in peer:
        return peer
    packed = socket.inet_pton(socket.AF_INET6, peer.partition("%")[0])
    if packed.startswith(_MAPPED):
        return socket.inet_ntop(socket.AF_INET, packed[12:])
    return socket.inet_ntop(socket.AF_INET6, packed[:8] + bytes(8)) + "/64"


def turned_away(bound: Bound) -> Refusal:
    """What a peer is told for whom there is no place."""
    where = " from this address" if bound == "peer" else ""
    return Refusal("overloaded", f"Too many connections are open{where}.")
