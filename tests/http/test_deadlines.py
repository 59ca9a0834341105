"""Peers that are slow, silent or gone, in virtual time: each costs a bounded time, and is told if it can."""

from __future__ import annotations

import random

import pytest
import trio
import trio.testing

from tenure_http import Limits, Request, Response
from tests.http.stage import Client, RecordingObserver, echo, on_stage, post, route

SWEEP_S = Limits().sweep_s


async def seconds_until_closed(client: Client) -> float:
    start = trio.current_time()
    assert await client.is_closed()
    return trio.current_time() - start


def about(seconds: float) -> object:
    """As late as the sweeper may be, never early."""
    return pytest.approx(seconds + SWEEP_S / 2, abs=SWEEP_S / 2 + 0.001)


async def test_a_connection_that_says_nothing_is_closed_without_a_word(
    autojump_clock: trio.abc.Clock,
) -> None:
    async with on_stage() as stage:
        assert await seconds_until_closed(stage.connect()) == about(10)


async def test_an_idle_connection_is_closed_without_a_word(autojump_clock: trio.abc.Clock) -> None:
    async with on_stage() as stage:
        client = stage.connect()
        await client.ask(post())
        assert await seconds_until_closed(client) == about(75)


async def test_a_request_restarts_the_idle_time(autojump_clock: trio.abc.Clock) -> None:
    async with on_stage() as stage:
        client = stage.connect()
        for _ in range(3):
            assert (await client.ask(post())).status == 200
            await trio.sleep(70)


async def trickle(client: Client, data: bytes, every_s: float) -> None:
    for byte in data:
        await client.tell(bytes([byte]))
        await trio.sleep(every_s)


async def test_a_header_that_trickles_in_is_cut_off(autojump_clock: trio.abc.Clock) -> None:
    observer = RecordingObserver()
    async with on_stage(observer=observer) as stage:
        client, start = stage.connect(), trio.current_time()
        with pytest.raises(trio.BrokenResourceError):
            await trickle(client, post(extra=["X: " + "a" * 1000]), 0.9)
        answer = await client.hear()
        assert (answer.status, answer.code, answer.closes) == (408, "request_timeout", True)
        assert trio.current_time() - start < 10 + SWEEP_S + Limits().linger_time_s + 1
    assert observer.refused == [("request_timeout", "-")]


async def test_the_header_time_begins_with_the_first_byte(autojump_clock: trio.abc.Clock) -> None:
    async with on_stage() as stage:
        client = stage.connect()
        await client.ask(post())
        await trio.sleep(60)
        await client.tell(b"POST /echo HT")
        start = trio.current_time()
        assert (await client.hear()).code == "request_timeout"
        assert trio.current_time() - start == about(10)


async def test_a_body_that_trickles_in_is_cut_off(autojump_clock: trio.abc.Clock) -> None:
    async with on_stage() as stage:
        client, start = stage.connect(), trio.current_time()
        await client.tell(post(body=b"", length="900"))
        with pytest.raises(trio.BrokenResourceError):
            await trickle(client, b"a" * 900, 0.9)
        answer = await client.hear()
        assert (answer.code, answer.json["disposition"]) == ("request_timeout", "retry")
        assert trio.current_time() - start < 15 + SWEEP_S + Limits().linger_time_s + 1
        assert stage.service.in_flight == 0


async def test_a_refused_peer_that_stays_is_not_waited_for(autojump_clock: trio.abc.Clock) -> None:
    observer = RecordingObserver()
    async with on_stage(observer=observer) as stage:
        await stage.connect().ask(post("/nowhere", length="500"))
        await trio.sleep(Limits().linger_time_s - 0.1)
        assert observer.open == 1
        await trio.sleep(0.2)
        assert observer.open == 0


async def test_header_and_body_have_times_of_their_own(autojump_clock: trio.abc.Clock) -> None:
    async with on_stage() as stage:
        client = stage.connect()
        await client.tell(post(body=b"", length="2")[:20])
        await trio.sleep(9)
        await client.tell(post(body=b"", length="2")[20:])
        await trio.sleep(14)
        assert (await client.ask(b"[]")).status == 200


async def test_a_handler_takes_the_time_it_takes(autojump_clock: trio.abc.Clock) -> None:
    observer = RecordingObserver()

    async def slow(request: Request) -> Response:
        await trio.sleep(1000)
        return await echo(request)

    async with on_stage([route(slow)], observer=observer) as stage:
        assert (await stage.connect().ask(post("/try"))).status == 200
    assert observer.durations_s == [pytest.approx(1000)]


async def test_a_peer_that_does_not_take_its_answer_is_cut(autojump_clock: trio.abc.Clock) -> None:
    observer = RecordingObserver()
    pair = trio.testing.lockstep_stream_pair
    async with on_stage(observer=observer, pair=pair) as stage:
        client = stage.connect()
        await client.tell(post())
        await trio.sleep(29)
        assert observer.open == 1
        await trio.sleep(2)
        assert (observer.open, observer.answered, stage.service.in_flight) == (0, [], 0)


async def test_a_connection_of_age_says_so_and_ends(autojump_clock: trio.abc.Clock) -> None:
    async with on_stage(limits=Limits(age_s=100, age_jitter=0.1)) as stage:
        client = stage.connect()
        closed = []
        for _ in range(12):
            answer = await client.ask(post())
            closed.append(answer.closes)
            if answer.closes:
                break
            await trio.sleep(10)
        assert closed.count(True) == 1
        assert 90 <= (len(closed) - 1) * 10 <= 110
        assert await client.is_closed()


async def test_ages_differ(autojump_clock: trio.abc.Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    spreads: list[tuple[float, float]] = []
    uniform = random.uniform

    def remember(low: float, high: float) -> float:
        spreads.append((low, high))
        return uniform(low, high)

    monkeypatch.setattr(random, "uniform", remember)
    async with on_stage() as stage:
        await stage.connect().ask(post())
    assert spreads == [(0.9, 1.1)]


async def test_data_that_comes_with_the_deadline_does_not_half_start_a_handler(
    autojump_clock: trio.abc.Clock,
) -> None:
    begun: list[Request] = []

    async def handler(request: Request) -> Response:
        begun.append(request)
        await trio.lowlevel.checkpoint()
        return await echo(request)

    async with on_stage([route(handler)]) as stage:
        client, data = stage.connect(), post("/try")
        await client.tell(data[:30])
        await trio.testing.wait_all_tasks_blocked()
        (connection,) = stage.service._connections
        await client.tell(data[30:])
        connection.expire()  # the data is there, and the connection did not run since
        assert (await client.hear()).status == 408
    assert begun == []


async def test_a_thousand_silent_peers_are_gone_in_time(autojump_clock: trio.abc.Clock) -> None:
    observer = RecordingObserver()
    async with on_stage(observer=observer) as stage:
        for _ in range(20):
            clients = [stage.connect() for _ in range(50)]
            for client in clients:
                await client.tell(b"POST")
            await trio.testing.wait_all_tasks_blocked()
        assert observer.open == 1000
        await trio.sleep(10 + SWEEP_S + Limits().linger_time_s + 0.1)
        assert observer.open == 0
