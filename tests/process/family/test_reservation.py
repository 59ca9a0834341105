"""An address that several processes share and nobody else gets."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import pytest
import trio

from tenure_process.address import Address, adopt, bind
from tenure_process.family.reservation import Reservation, reserve

ANYWHERE = Address("127.0.0.1", 0)


@pytest.fixture
def closing() -> Iterator[ExitStack]:
    """What is closed at the end of the test."""
    with ExitStack() as stack:
        yield stack


def member(reservation: Reservation) -> int:
    """The descriptor that a process would inherit."""
    (one,) = reservation.members()
    return one.detach()


async def test_connections_go_to_those_who_listen(closing: ExitStack) -> None:
    reservation = closing.enter_context(await reserve(ANYWHERE))
    async with adopt([member(reservation)]) as first, adopt([member(reservation)]) as second:
        assert first.address == second.address == reservation.address
        accepted = {0: 0, 1: 0}

        async def accept(index: int, listener: trio.abc.Listener[trio.SocketStream]) -> None:
            while True:
                stream = await listener.accept()
                accepted[index] += 1
                await stream.aclose()

        async with trio.open_nursery() as nursery:
            for index, each in enumerate((first, second)):
                nursery.start_soon(accept, index, each.listeners[0])
            for _ in range(40):
                stream = await trio.open_tcp_stream("127.0.0.1", reservation.address.port)
                assert await stream.receive_some(1) == b""
                await stream.aclose()
            nursery.cancel_scope.cancel()
    assert sum(accepted.values()) == 40
    assert all(accepted.values())


async def test_without_processes_nobody_is_let_in(closing: ExitStack) -> None:
    reservation = closing.enter_context(await reserve(ANYWHERE))
    with pytest.raises(OSError, match="all attempts to connect"):
        await trio.open_tcp_stream("127.0.0.1", reservation.address.port)


async def test_an_address_is_reserved_once(closing: ExitStack) -> None:
    reservation = closing.enter_context(await reserve(ANYWHERE))
    with pytest.raises(OSError, match="in use"):
        await reserve(reservation.address)
    with pytest.raises(OSError, match="in use"):
        await bind(reservation.address)
    async with adopt([member(reservation)]):
        with pytest.raises(OSError, match="in use"):
            await reserve(reservation.address)


async def test_what_somebody_serves_cannot_be_reserved() -> None:
    async with await bind(ANYWHERE) as bound:
        with pytest.raises(OSError, match="in use"):
            await reserve(bound.address)


async def test_connections_of_the_last_server_are_not_in_the_way(closing: ExitStack) -> None:
    async with await bind(ANYWHERE) as bound:
        client = await trio.open_tcp_stream("127.0.0.1", bound.address.port)
        served = await bound.listeners[0].accept()
        await served.aclose()  # this side waits in the system for a minute
        await client.aclose()
    reservation = closing.enter_context(await reserve(bound.address))
    async with adopt([member(reservation)]) as adopted:
        assert adopted.address == bound.address


async def test_an_address_of_the_other_kind(closing: ExitStack) -> None:
    reservation = closing.enter_context(await reserve(Address("::1", 0)))
    async with adopt([member(reservation)]) as adopted:
        assert str(adopted.address).startswith("[::1]:")


async def test_a_name_that_is_nobodys_is_refused() -> None:
    with pytest.raises(OSError, match=r"[Nn]ame|address"):
        await reserve(Address("nobody.invalid", 0))
