"""Where a process listens."""

from __future__ import annotations

import socket
from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Any, Final

import trio

from tenure_http.tls import TlsListener, TlsMaterial, TlsSwitch

BACKLOG: Final = 0xFFFF
"""Connections that wait to be accepted; the system takes what it allows."""


@dataclass(frozen=True)
class Address:
    """Where to listen. Port 0: one that is free."""

    host: str
    port: int

    @property
    def loopback(self) -> bool:
        """Whether only this machine can reach it."""
        try:
            return ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


@dataclass(frozen=True)
class Bound(trio.abc.AsyncResource):
    """Open listeners, one for each address that the host's name has; `address` is the first of them.

    `switch` has the TLS context of new connections; None when they speak plain text.
    """

    listeners: Sequence[trio.abc.Listener[Any]]
    address: Address
    switch: TlsSwitch | None = None

    async def aclose(self) -> None:
        """Close every listener, also when one of them fails or the caller is cancelled."""
        async with AsyncExitStack() as stack:
            for listener in self.listeners:
                stack.push_async_callback(listener.aclose)


async def bind(address: Address, tls: TlsMaterial | None = None) -> Bound:
    """Listen at an address, with TLS when there is material for it.

    Raises OSError naming the address when it cannot be had, TlsError when the material cannot be served with.
    """
    switch = TlsSwitch(tls) if tls else None
    with naming(address):
        listeners = await trio.open_tcp_listeners(address.port, host=address.host)
    return _bound(listeners, switch)


@contextmanager
def naming(address: Address) -> Iterator[None]:
    """Whatever the system says against an address in this block, with the address: a process has several."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, f"{address}: {error.strerror or error}") from error


def adopt(descriptors: Sequence[int], tls: TlsMaterial | None = None) -> Bound:
    """Listen on sockets that a parent bound. Raises as `bind` does."""
    switch = TlsSwitch(tls) if tls else None
    return _bound([_listening(each) for each in descriptors], switch)


def _listening(descriptor: int) -> trio.SocketListener:
    handed = socket.socket(fileno=descriptor)
    handed.listen(BACKLOG)
    return trio.SocketListener(trio.socket.from_stdlib_socket(handed))


def _bound(listeners: Sequence[trio.SocketListener], switch: TlsSwitch | None) -> Bound:
    host, port, *_ = listeners[0].socket.getsockname()
    secured = [TlsListener(each, switch) if switch else each for each in listeners]
    return Bound(secured, Address(host, port), switch)
