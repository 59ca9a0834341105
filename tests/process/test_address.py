"""Listening: free ports, names with several addresses, and nothing left open."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

import pytest
import trio
import trustme

from tenure_http.tls import TlsError, TlsListener, TlsMaterial
from tenure_process.address import Address, Bound, bind

ANYWHERE = Address("127.0.0.1", 0)


async def test_port_0_becomes_one_that_is_free() -> None:
    async with await bind(ANYWHERE) as bound:
        assert bound.address.port > 0
        stream = await trio.open_tcp_stream(bound.address.host, bound.address.port)
        await stream.aclose()
        with pytest.raises(OSError, match="in use"):
            await bind(bound.address)


class TwoAddresses(trio.abc.HostnameResolver):
    """Every name has two addresses of this machine."""

    async def getaddrinfo(self, host: Any, port: Any, *rest: Any, **more: Any) -> Any:
        return [
            (socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port))
            for address in ("127.0.0.1", "127.0.0.2")
        ]

    async def getnameinfo(self, sockaddr: Any, flags: int) -> tuple[str, str]:
        raise AssertionError("nobody asks")


async def test_a_name_with_two_addresses_is_listened_on_at_both() -> None:
    trio.socket.set_custom_hostname_resolver(TwoAddresses())  # until the end of this run of trio
    async with await bind(Address("localhost", 0)) as bound:
        hosts = [listener.socket.getsockname()[0] for listener in bound.listeners]  # type: ignore[attr-defined]
        assert hosts == ["127.0.0.1", "127.0.0.2"]
        assert bound.address.host == "127.0.0.1"


async def test_cancelling_the_close_leaves_nothing_open() -> None:
    bound = [await bind(ANYWHERE), await bind(ANYWHERE)]
    both = Bound([listener for each in bound for listener in each.listeners], bound[0].address)
    with trio.move_on_after(0):
        await both.aclose()
    for each in bound:
        with pytest.raises(OSError, match="all attempts to connect"):
            await trio.open_tcp_stream(each.address.host, each.address.port)


async def test_with_material_every_listener_speaks_tls(tmp_path: Path) -> None:
    pair = trustme.CA().issue_cert("localhost").private_key_and_cert_chain_pem
    pair.write_to_path(tmp_path / "pair.pem")
    async with await bind(ANYWHERE, TlsMaterial(tmp_path / "pair.pem", tmp_path / "pair.pem")) as bound:
        assert all(isinstance(listener, TlsListener) for listener in bound.listeners)


async def test_material_that_cannot_be_served_with_opens_nothing(tmp_path: Path) -> None:
    with pytest.raises(TlsError, match="cannot be read"):
        await bind(ANYWHERE, TlsMaterial(tmp_path / "none.pem", tmp_path / "none.pem"))


@pytest.mark.parametrize(
    ("host", "text", "near"),
    [("::1", "[::1]:80", True), ("127.0.0.9", "127.0.0.9:80", True), ("::", "[::]:80", False)],
)
def test_an_address_is_read_by_people(host: str, text: str, near: bool) -> None:
    address = Address(host, 80)
    assert (str(address), address.loopback) == (text, near)
