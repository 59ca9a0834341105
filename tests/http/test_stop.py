"""How a server ends: what finishes, what is cut, who is told."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial

import pytest
import trio
import trio.testing

from tenure_contracts.error import Refusal
from tenure_http import Drained, Head, Limits, Match, Request, Response, Route, Router, serve
from tests.http.stage import (
    Client,
    MemoryListener,
    RecordingObserver,
    echo,
    echo_route,
    get,
    on_stage,
    post,
    route,
)


def waiting(gate: trio.Event) -> Callable[[Request], Awaitable[Response]]:
    async def wait(request: Request) -> Response:
        await gate.wait()
        return await echo(request)

    return wait


async def test_idle_connections_close_at_once_and_requests_finish(autojump_clock: trio.abc.Clock) -> None:
    gate = trio.Event()
    outcomes: list[Drained] = []
    async with on_stage([route(waiting(gate))]) as stage, trio.open_nursery() as nursery:
        idle, silent, busy = stage.connect(), stage.connect(), stage.connect()
        await idle.ask(post())
        await busy.tell(post("/try"))
        await trio.testing.wait_all_tasks_blocked()

        async def stop() -> None:
            outcomes.append(await stage.service.stop(10))

        nursery.start_soon(stop)
        assert await idle.is_closed()
        assert await silent.is_closed()
        assert stage.listener.closed
        assert outcomes == []
        gate.set()
        answer = await busy.hear()
        assert (answer.status, answer.closes) == (200, True)
        assert await busy.is_closed()
    assert outcomes == [Drained({})]
    assert outcomes[0].complete


async def test_what_exceeds_the_budget_is_cut_and_named(autojump_clock: trio.abc.Clock) -> None:
    cancelled: list[str] = []

    async def forever(request: Request) -> Response:
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(trio.sleep_forever)
                nursery.start_soon(trio.sleep_forever)
        finally:
            cancelled.append(request.route)
        raise AssertionError

    observer = RecordingObserver()
    async with on_stage([route(forever)], observer=observer) as stage:
        clients = [stage.connect(), stage.connect()]
        for client in clients:
            await client.tell(post("/try"))
        await trio.testing.wait_all_tasks_blocked()
        start = trio.current_time()
        outcome = await stage.service.stop(7)
        assert trio.current_time() - start == pytest.approx(7, abs=0.1)
        assert outcome == Drained({"try": 2})
        assert not outcome.complete
        assert [await client.is_closed() for client in clients] == [True, True]
    assert (cancelled, observer.open) == (["try", "try"], 0)


async def test_concurrent_and_later_stops_share_one_outcome(autojump_clock: trio.abc.Clock) -> None:
    gate = trio.Event()
    outcomes: list[Drained] = []
    async with on_stage([route(waiting(gate))]) as stage:
        await stage.connect().tell(post("/try"))
        await trio.testing.wait_all_tasks_blocked()

        async def stop(budget_s: float) -> None:
            outcomes.append(await stage.service.stop(budget_s))

        start = trio.current_time()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(stop, 5)
            await trio.testing.wait_all_tasks_blocked()
            for budget_s in (0, 1000):
                nursery.start_soon(stop, budget_s)
        assert trio.current_time() - start == pytest.approx(5, abs=0.1)
        outcomes.append(await stage.service.stop(0))
    assert outcomes[0] == Drained({"try": 1})
    assert all(outcome is outcomes[0] for outcome in outcomes)


async def test_cancelling_a_stopper_does_not_cancel_the_stop(autojump_clock: trio.abc.Clock) -> None:
    async with on_stage([route(waiting(trio.Event()))]) as stage:
        await stage.connect().tell(post("/try"))
        await trio.testing.wait_all_tasks_blocked()
        with trio.move_on_after(1) as scope:
            await stage.service.stop(3)
        assert scope.cancelled_caught
        start = trio.current_time()
        assert await stage.service.stop(100) == Drained({"try": 1})
        assert trio.current_time() - start == pytest.approx(2, abs=0.1)


async def test_a_drain_keeps_the_listener_for_probes(autojump_clock: trio.abc.Clock) -> None:
    gate = trio.Event()
    routes = [echo_route(), route(waiting(gate)), Route("probe", "GET", "/probe", echo, counted=False)]
    router, ending = Router(routes), False

    def admit(head: Head) -> Match:
        match = router(head)
        if ending and match.route.counted:
            raise Refusal("draining")
        return match

    async with on_stage(admit=admit) as stage:
        busy = stage.connect()
        await busy.tell(post("/try"))
        await trio.testing.wait_all_tasks_blocked()
        ending = True
        assert await stage.service.drain(1) == Drained({"try": 1})
        assert (await stage.connect().ask(post())).code == "draining"
        probe = await stage.connect().ask(get("/probe"))
        assert (probe.status, probe.closes) == (200, True)
        gate.set()
        assert (await busy.hear()).closes
        assert await stage.service.drain(1) == Drained()
        assert not stage.listener.closed
        assert await stage.service.stop(1) == Drained()


async def test_an_answer_being_written_as_the_drain_begins_is_the_last(
    autojump_clock: trio.abc.Clock,
) -> None:
    async with on_stage(pair=trio.testing.lockstep_stream_pair) as stage, trio.open_nursery() as nursery:
        client = stage.connect()
        await client.tell(post())
        await trio.testing.wait_all_tasks_blocked()
        nursery.start_soon(stage.service.drain, 10)
        await trio.testing.wait_all_tasks_blocked()
        assert (await client.hear()).status == 200
        with trio.fail_after(1):  # and not when its idle time is over
            assert await client.is_closed()


async def test_a_body_on_its_way_is_waited_for(autojump_clock: trio.abc.Clock) -> None:
    async with on_stage() as stage, trio.open_nursery() as nursery:
        client = stage.connect()
        await client.tell(post(body=b"", length="2"))
        await trio.testing.wait_all_tasks_blocked()
        nursery.start_soon(stage.service.stop, 10)
        await trio.sleep(1)
        assert (await client.ask(b"[]")).closes
        assert (await stage.service.stop(0)).complete


async def test_serve_returns_what_stop_returns(autojump_clock: trio.abc.Clock) -> None:
    outcomes: list[Drained] = []

    async def run(*, task_status: trio.TaskStatus[object]) -> None:
        outcomes.append(await serve([MemoryListener()], Router([]), task_status=task_status))

    async with trio.open_nursery() as nursery:
        service = await nursery.start(run)
        outcomes.append(await service.stop(1))
    assert outcomes == [Drained(), Drained()]


async def test_cancelling_the_server_cuts_all_and_frees_stoppers(autojump_clock: trio.abc.Clock) -> None:
    observer, listener = RecordingObserver(), MemoryListener()
    router = Router([route(waiting(trio.Event()))])
    outcomes: list[Drained] = []
    async with trio.open_nursery() as outer:
        async with trio.open_nursery() as nursery:
            service = await nursery.start(partial(serve, [listener], router, observer=observer))
            client = listener.connect()
            await client.tell(post("/try"))
            await trio.testing.wait_all_tasks_blocked()

            async def stop() -> None:
                outcomes.append(await service.stop(1000))

            outer.start_soon(stop)
            await trio.testing.wait_all_tasks_blocked()
            nursery.cancel_scope.cancel()
        assert await client.is_closed()
    assert outcomes == [Drained({"try": 1})]
    assert (observer.open, service.connections, service.in_flight, listener.closed) == (0, 0, 0, True)


async def test_a_stop_does_not_wait_for_half_a_header_nor_for_uncounted_routes(
    autojump_clock: trio.abc.Clock,
) -> None:
    uncounted = route(waiting(trio.Event()), counted=False)
    async with on_stage([uncounted], limits=Limits(header_time_s=1000)) as stage:
        await stage.connect().tell(b"POST /ec")
        await stage.connect().tell(post("/try"))
        await trio.testing.wait_all_tasks_blocked()
        start = trio.current_time()
        assert (await stage.service.stop(100)).complete
        assert trio.current_time() - start < 0.1


async def tell_nothing(client: Client) -> None:
    """Idle from the start."""


async def have_asked(client: Client) -> None:
    """Idle after a request."""
    await client.ask(post())


async def send_half_a_head(client: Client) -> None:
    await client.tell(b"POST /ec")


async def send_half_a_body(client: Client) -> None:
    await client.tell(post(length="900"))


async def be_handled(client: Client) -> None:
    await client.tell(post("/try"))


async def take_no_answer(client: Client) -> None:
    await client.tell(post())


async def be_refused_and_stay(client: Client) -> None:
    await client.ask(post("/nowhere", length="500"))


Begin = Callable[[Client], Awaitable[None]]

IN_FLIGHT: dict[Begin, dict[str, int]] = {
    send_half_a_body: {"echo": 1},
    be_handled: {"try": 1},
    take_no_answer: {"echo": 1},
}
NOT_IN_FLIGHT: tuple[Begin, ...] = (tell_nothing, have_asked, send_half_a_head, be_refused_and_stay)


@pytest.mark.parametrize("begin", [*IN_FLIGHT, *NOT_IN_FLIGHT])
async def test_a_cancellation_leaves_nothing_behind_wherever_it_lands(
    begin: Begin, autojump_clock: trio.abc.Clock
) -> None:
    observer, listener = RecordingObserver(), MemoryListener(trio.testing.lockstep_stream_pair)
    router = Router([echo_route(), route(waiting(trio.Event()))])
    async with trio.open_nursery() as nursery:
        service = await nursery.start(partial(serve, [listener], router, observer=observer))
        client = listener.connect()
        await begin(client)
        await trio.testing.wait_all_tasks_blocked()
        assert observer.open == 1
        nursery.cancel_scope.cancel()
    assert (observer.open, service.connections, service.in_flight, listener.closed) == (0, 0, 0, True)
    with pytest.raises(trio.BrokenResourceError):
        await client.tell(b"more")
    assert (await service.stop(0)).left == IN_FLIGHT.get(begin, {})
