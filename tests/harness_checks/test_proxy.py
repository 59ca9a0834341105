"""The fault proxy fails as it is told, over TCP, and otherwise carries faithfully."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from tests.harness import FaultProxy, open_proxy
from tests.harness.postgres_wire import StatementWatch


@contextlib.asynccontextmanager
async def echo_through_proxy() -> AsyncIterator[tuple[FaultProxy, trio.SocketStream]]:
    """A server that sends back what it gets, and a client that reaches it through the proxy."""

    async def echo(stream: trio.SocketStream) -> None:
        with contextlib.suppress(trio.BrokenResourceError):
            async for data in stream:
                await stream.send_all(data)

    async with trio.open_nursery() as nursery:
        (listener,) = await trio.open_tcp_listeners(0, host="127.0.0.1")
        await nursery.start(trio.serve_listeners, echo, [listener])
        host, port = listener.socket.getsockname()
        async with open_proxy((host, port)) as proxy, await connect(proxy) as client:
            yield proxy, client
        nursery.cancel_scope.cancel()


async def connect(proxy: FaultProxy) -> trio.SocketStream:
    assert isinstance(proxy.address, tuple)
    return await trio.open_tcp_stream(*proxy.address)


async def receive(client: trio.SocketStream, size: int) -> bytes:
    received = b""
    while len(received) < size:
        received += await client.receive_some()
    return received


async def test_it_carries_everything_and_the_end() -> None:
    content = bytes(range(256)) * 4096
    async with echo_through_proxy() as (_, client), trio.open_nursery() as nursery:
        nursery.start_soon(client.send_all, content)
        assert await receive(client, len(content)) == content
        await client.send_eof()
        assert await client.receive_some() == b""


async def test_stalled_bytes_come_later() -> None:
    async with echo_through_proxy() as (proxy, client):
        proxy.stall()
        await client.send_all(b"held")
        with trio.move_on_after(0.05) as scope:
            await client.receive_some()
        assert scope.cancelled_caught

        proxy.forward()
        assert await receive(client, 4) == b"held"


async def test_one_way_holds_only_that_direction() -> None:
    async with echo_through_proxy() as (proxy, client):
        proxy.one_way("requests")
        await client.send_all(b"question")
        await wait_all_tasks_blocked(0.02)
        proxy.one_way("replies")
        proxy.forward()
        assert await receive(client, 8) == b"question"


async def test_a_delay_is_one_in_each_direction() -> None:
    async with echo_through_proxy() as (proxy, client):
        proxy.delay(0.05)
        before = trio.current_time()
        await client.send_all(b"slow")
        await receive(client, 4)
        assert trio.current_time() - before >= 0.1


async def test_a_cut_is_a_reset() -> None:
    async with echo_through_proxy() as (proxy, client):
        await client.send_all(b"x")
        await receive(client, 1)
        proxy.cut()
        with pytest.raises(trio.BrokenResourceError) as caught:
            await client.receive_some()
        assert isinstance(caught.value.__cause__, ConnectionResetError)


async def test_refusing_closes_new_connections_and_leaves_the_open_ones() -> None:
    async with echo_through_proxy() as (proxy, client):
        await client.send_all(b"x")
        await receive(client, 1)
        proxy.refuse()
        async with await connect(proxy) as refused:
            assert await refused.receive_some() == b""
        await client.send_all(b"y")
        assert await receive(client, 1) == b"y"


def message(kind: bytes, body: bytes) -> bytes:
    return kind + (4 + len(body)).to_bytes(4) + body


@pytest.mark.parametrize("size", [1, 3, 1000])
def test_the_watch_knows_statements_however_the_bytes_are_cut(size: int) -> None:
    startup = message(b"", b"\0\3\0\0x\0")
    parse = message(b"P", b"s1\0SELECT 1\0\0\0")
    bind = message(b"B", b"\0s1\0" + bytes(6))
    stream = startup + parse + bind + message(b"Q", b"COMMIT\0")
    watch = StatementWatch()

    found = [each for i in range(0, len(stream), size) for each in watch.executed(stream[i : i + size])]

    assert found == ["SELECT 1", "COMMIT"]
