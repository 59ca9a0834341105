"""The question to a process of ours: an answer, or none in time."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial

import pytest
import trio

from tenure_http import Request, Response, Route, Router, serve
from tenure_process.address import Address, bind
from tenure_process.family.ask import ANSWER_BYTES, Answer, ask

LARGE = bytes(300_000)


async def large(request: Request) -> Response:
    return Response(200, LARGE)


async def stuck(request: Request) -> Response:
    await trio.sleep_forever()
    raise AssertionError("it sleeps")


async def endless(request: Request) -> Response:
    return Response(200, bytes(ANSWER_BYTES + 1))


async def asked(handler: Callable[[Request], Awaitable[Response]], path: str = "/") -> Answer | None:
    async with await bind(Address("127.0.0.1", 0)) as bound, trio.open_nursery() as nursery:
        routes = Router([Route("x", "POST", "/", handler, media_type=None)])
        await nursery.start(partial(serve, bound.listeners, routes))
        answer = await ask(bound.address.port, path, method="POST", timeout_s=0.5)
        nursery.cancel_scope.cancel()
    return answer


async def test_status_and_body_come_back() -> None:
    assert await asked(large) == Answer(200, LARGE)
    refused = await asked(large, "/none")
    assert refused is not None
    assert refused.status == 404


@pytest.mark.parametrize("handler", [stuck, endless])
async def test_what_does_not_answer_as_it_should_is_silence(
    handler: Callable[[Request], Awaitable[Response]],
) -> None:
    assert await asked(handler) is None


async def test_nobody_there_is_silence() -> None:
    async with await bind(Address("127.0.0.1", 0)) as bound:
        port = bound.address.port
    assert await ask(port, "/") is None


async def test_one_that_hangs_up_is_silence() -> None:
    async def hang_up(stream: trio.SocketStream) -> None:
        await stream.receive_some(1000)
        await stream.send_all(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab")
        await stream.aclose()

    async with trio.open_nursery() as nursery:
        (listener,) = await nursery.start(partial(trio.serve_tcp, hang_up, 0, host="127.0.0.1"))
        assert await ask(listener.socket.getsockname()[1], "/") is None
        nursery.cancel_scope.cancel()
