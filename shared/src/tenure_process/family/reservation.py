"""One address for several processes, and for nobody else.

SO_REUSEPORT lets every process of the same user join, also a second server that somebody starts by mistake:
the two would silently share their workers. So the parent binds alone first, which fails when anybody has the
port, opens the address to its group only then, and holds it as long as it lives. It never listens: the
kernel gives connections to those who do.
"""

from __future__ import annotations

import socket
from collections.abc import Sequence
from contextlib import ExitStack
from types import TracebackType
from typing import Any, Self

import trio

from tenure_process.address import Address, naming


class Reservation:
    """An address that is ours. Made by `reserve`; closed at the end of its block."""

    def __init__(self, sockets: Sequence[socket.socket]) -> None:
        self._sockets = sockets
        host, port, *_ = sockets[0].getsockname()
        self.address = Address(host, port)

    def members(self) -> list[socket.socket]:
        """A new socket at each of its addresses, bound, for one process to listen on."""
        return [_bound(each.family, each.getsockname(), socket.SO_REUSEPORT) for each in self._sockets]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for each in self._sockets:
            each.close()


async def reserve(address: Address) -> Reservation:
    """Take an address, all of those that the host's name has. Raises OSError when one cannot be had."""
    with naming(address), ExitStack() as undo:
        found = await trio.socket.getaddrinfo(
            address.host, address.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
        sockets = [undo.enter_context(_alone(family, name)) for family, *_, name in found]
        undo.pop_all()
    return Reservation(sockets)


def _alone(family: int, name: Any) -> socket.socket:
    one = _bound(family, name)
    # Not before: from now on whoever binds with it and is of our user may come in, and without it nobody.
    one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 0)
    one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    return one


def _bound(family: int, name: Any, *options: int) -> socket.socket:
    one = socket.socket(family, socket.SOCK_STREAM)
    try:
        # What is left of connections of the last server is not in the way.
        for option in (socket.SO_REUSEADDR, *options):
            one.setsockopt(socket.SOL_SOCKET, option, 1)
        if family == socket.AF_INET6:
            one.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        one.bind(name)
    except BaseException:
        one.close()
        raise
    return one
