"""A parent and its processes: real ones, of a small program that serves, reloads and ends as it is told."""

from __future__ import annotations

import os
import signal
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import httpx
import pytest
import structlog
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from tenure_process.address import Address
from tenure_process.family.ask import Answer
from tenure_process.family.child import Child
from tenure_process.family.family import Family, Plan
from tenure_process.family.parent import Serving, serve_many
from tenure_process.family.reservation import Reservation
from tests.harness.fake_worker import PLAIN

ANYWHERE = Address("127.0.0.1", 0)

PROGRAM = """
import os, signal, sys
from functools import partial
import trio
from tenure_http import Response, Route, Router, serve
from tenure_http.probe import Readiness, probe_routes
from tenure_http.problem import PROBLEM_JSON
from tenure_process.address import adopt
from tenure_process.family.handed import Handed
from tenure_process.main import run

handed = Handed.read(sys.argv[1:])
told = os.environ.get(f"PROCESS_{handed.index}", "")

class Settings:
    debug = False

async def who(request):
    return Response(200, str(os.getpid()).encode())

async def reload(request):
    if told == "refuse":
        return Response(409, b'{"status": 409, "detail": "key.pem is empty"}', PROBLEM_JSON)
    return Response(200, b'{"status": "reloaded", "fingerprint": "sha256:aa"}')

async def start(settings, *, signals):
    if told.isdecimal():
        return int(told)
    readiness = Readiness()
    probes = [*probe_routes(readiness, lambda: b"# TYPE served gauge\\nserved 1\\n"),
              Route("reload", "POST", "/reload", reload, media_type=None)]
    async with trio.open_nursery() as nursery:
        await nursery.start(partial(serve, adopt([handed.probe]).listeners, Router(probes)))
        routes = Router([Route("who", "GET", "/", who)])
        http = await nursery.start(partial(serve, adopt(handed.listen).listeners, routes))
        readiness.become(*(["unavailable", "no database"] if told == "unready" else ["ready"]))
        async for number in signals:
            if number == signal.SIGHUP or told == "deaf":
                continue
            if told != "slow" or not readiness.serves:
                break
            readiness.become("draining")
        nursery.cancel_scope.cancel()
    return 1 if told in ("slow", "bad end") else 0

sys.exit(run("tenure.small", Settings, start, process=handed.index))
"""


@dataclass
class Running:
    """A family that serves."""

    serving: Serving
    signals: trio.MemorySendChannel[int]
    log: list[Any]
    code: int | None = None

    async def probe(self, path: str, method: str = "GET") -> httpx.Response:
        async with httpx.AsyncClient(trust_env=False, verify=PLAIN) as client:
            return await client.request(method, f"http://{self.serving.probe_address}{path}")

    async def ask(self) -> int:
        """The process that answers a new connection."""
        async with httpx.AsyncClient(trust_env=False, verify=PLAIN) as client:
            return int((await client.get(f"http://{self.serving.address}/")).text)

    @property
    def events(self) -> list[str]:
        return [entry["event"] for entry in self.log]

    @property
    def pids(self) -> list[int]:
        """Of all that were started, in the order of their numbers and starts."""
        started = [entry for entry in self.log if entry["event"] == "process_started"]
        return [entry["pid"] for entry in sorted(started, key=lambda entry: entry["process"])]

    async def wait_probe(self, path: str, status: int) -> httpx.Response:
        with trio.fail_after(20):
            while (answer := await self.probe(path)).status_code != status:  # noqa: ASYNC110 - asked over HTTP
                await trio.sleep(0.05)
        return answer


def small(**told: str) -> Plan:
    """Two processes of the program, told what to do."""
    return Plan(
        command=[sys.executable, "-c", PROGRAM],
        environ={**os.environ, **told},
        count=2,
        listen=ANYWHERE,
        probe_listen=ANYWHERE,
        stop_budget_s=10,
        prefix="tenure_small",
    )


@asynccontextmanager
async def family(plan: Plan) -> AsyncIterator[Running]:
    """Have one that is ready, for the block; its exit code is known after it."""
    send, receive = trio.open_memory_channel[int](8)
    with structlog.testing.capture_logs() as log:
        async with trio.open_nursery() as nursery:

            async def run(*, task_status: trio.TaskStatus[Serving]) -> None:
                running.code = await serve_many(plan, signals=receive, task_status=task_status)

            running = Running(Serving(ANYWHERE, ANYWHERE), send, log)
            with trio.fail_after(60):
                running.serving = await nursery.start(run)
            yield running
            send.send_nowait(signal.SIGTERM)


async def code_of(plan: Plan) -> tuple[int, list[Any]]:
    """How a family ends by itself, and what it logged."""
    _, receive = trio.open_memory_channel[int](1)
    with structlog.testing.capture_logs() as log, trio.fail_after(60):
        return await serve_many(plan, signals=receive), log


async def test_every_process_serves_and_the_parent_speaks_for_all() -> None:
    async with family(small()) as running:
        seen = {await running.ask() for _ in range(40)}
        assert seen == set(running.pids)
        assert len(seen) == 2
        assert (await running.probe("/livez")).status_code == 200
        assert (await running.probe("/readyz")).json() == {"status": "ready", "reasons": []}
        metrics = (await running.probe("/metrics")).text.splitlines()
        assert {'served{process="0"} 1.0', 'served{process="1"} 1.0'} <= set(metrics)
        assert 'tenure_small_process_up{process="1"} 1.0' in metrics
        reloaded = await running.probe("/reload", "POST")
        assert (reloaded.status_code, reloaded.json()["fingerprint"]) == (200, "sha256:aa")
        assert len(reloaded.json()["processes"]) == 2
        await _nobody_else_gets_the_address(running)
    assert running.code == 0
    assert running.events[-2:] == ["draining", "ended"]


async def _nobody_else_gets_the_address(running: Running) -> None:
    address = running.serving.address
    plan = small()
    code, log = await code_of(Plan(**{**vars(plan), "listen": address}))
    assert code == 78
    assert "in use" in log[0]["reason"]
    with socket.socket() as alone:
        alone.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        with pytest.raises(OSError, match="in use"):
            alone.bind((address.host, address.port))


class Slow(Family):
    """Whose processes take a second to answer; none of them is started."""

    def __init__(self) -> None:
        with Reservation([socket.create_server(("127.0.0.1", 0))]) as nowhere:
            super().__init__(small(), nowhere)
        self.asked = 0

    async def ask_all(self, path: str, **_: Any) -> dict[Child, Answer | None]:
        self.asked += 1
        await trio.sleep(1)
        return dict.fromkeys(self.children, Answer(200, path.encode()))


async def test_a_crowd_that_looks_is_one_look_at_each_process(autojump_clock: MockClock) -> None:
    """Otherwise whoever reaches the probe listener keeps it from answering whom it is for."""
    slow, seen = Slow(), []

    async def look(path: str) -> None:
        seen.append(set((await slow.look_at_all(path)).values()))

    async with trio.open_nursery() as nursery:
        for _ in range(50):
            nursery.start_soon(look, "/livez")
        nursery.start_soon(look, "/readyz")
    assert (len(seen), slow.asked) == (51, 2)
    assert await slow.look_at_all("/livez")
    assert slow.asked == 3


async def test_who_is_cancelled_while_looking_leaves_it_to_another(autojump_clock: MockClock) -> None:
    slow, first = Slow(), trio.CancelScope()

    async def look_first() -> None:
        with first:
            await slow.look_at_all("/livez")

    async with trio.open_nursery() as nursery:
        nursery.start_soon(look_first)
        await wait_all_tasks_blocked()
        nursery.start_soon(slow.look_at_all, "/livez")
        await wait_all_tasks_blocked()
        assert slow.asked == 1
        first.cancel()
    assert slow.asked == 2


@pytest.mark.parametrize("code", [75, 78])
async def test_what_keeps_one_from_starting_ends_them_all(code: int) -> None:
    ended, log = await code_of(small(PROCESS_1=str(code)))
    assert ended == code
    assert "ready" not in [entry["event"] for entry in log]


async def test_one_that_dies_is_started_again_and_the_rest_serves_on() -> None:
    async with family(small(PROCESS_0="bad end")) as running:
        first, second = running.pids
        os.kill(second, signal.SIGSTOP)
        stuck = await running.wait_probe("/livez", 503)
        assert stuck.json()["reasons"] == ["process 1 does not answer"]
        os.kill(second, signal.SIGKILL)
        (reason,) = (await running.wait_probe("/readyz", 503)).json()["reasons"]
        assert reason.startswith("process 1 ")
        assert (await running.probe("/livez")).status_code == 200, "a restart is under way already"
        assert await running.ask() == first
        await running.wait_probe("/readyz", 200)
        assert set(running.pids) > {first, second}
        metrics = (await running.probe("/metrics")).text.splitlines()
        assert 'tenure_small_process_restarts_total{process="1"} 1.0' in metrics
        assert 'tenure_small_process_restarts_total{process="0"} 0.0' in metrics
        (ended,) = [entry for entry in running.log if entry["event"] == "process_ended"]
        assert (ended["process"], ended["returned"]) == (1, -signal.SIGKILL)
    assert running.code == 1, "the worst of all"


async def test_a_second_signal_cuts_and_what_is_deaf_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tenure_process.family.family.CUT_S", 0.5)
    async with family(small(PROCESS_0="slow", PROCESS_1="deaf")) as running:
        running.signals.send_nowait(signal.SIGTERM)
        assert (await running.wait_probe("/readyz", 503)).json()["status"] == "draining"
        # The block's own end is the second one.
    assert running.code == 1
    assert running.events[-1] == "ended"
    assert running.events.index("cut_short") < running.events.index("process_killed")
    assert 1 in [entry["process"] for entry in running.log if entry["event"] == "process_killed"]


async def test_a_refused_reload_names_process_and_file() -> None:
    async with family(small(PROCESS_1="refuse")) as running:
        answer = await running.probe("/reload", "POST")
        assert answer.status_code == 409
        assert answer.json()["detail"] == "process 1: key.pem is empty"
        running.signals.send_nowait(signal.SIGHUP)
        with trio.fail_after(5):
            while running.events.count("reload_refused") < 2:  # noqa: ASYNC110 - a log has no event
                await trio.sleep(0.01)
        assert running.log[-1]["refused"] == ["process 1: key.pem is empty"]
    assert running.code == 0


async def test_until_all_are_ready_it_is_not_and_says_who_is_missing() -> None:
    plan = small(PROCESS_1="unready")
    send, receive = trio.open_memory_channel[int](1)
    with structlog.testing.capture_logs() as log:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(partial(serve_many, plan, signals=receive))
            with trio.fail_after(5):
                while not log:  # noqa: ASYNC110 - a log has no event
                    await trio.sleep(0.01)
            running = Running(Serving(ANYWHERE, log[0]["probe"]), send, log)
            with trio.fail_after(20):
                answer = (await running.probe("/readyz")).json()
                while answer["status"] != "unavailable" or len(answer["reasons"]) != 1:
                    answer = (await running.probe("/readyz")).json()
            assert answer == {"status": "unavailable", "reasons": ["process 1 is unavailable: no database"]}
            assert "ready" not in running.events
            send.send_nowait(signal.SIGTERM)


async def test_cancelling_leaves_nothing_behind() -> None:
    async with trio.open_nursery() as nursery:
        _, receive = trio.open_memory_channel[int](1)
        with structlog.testing.capture_logs() as log:
            serving = await nursery.start(partial(serve_many, small(), signals=receive))
        nursery.cancel_scope.cancel()
    for entry in log:
        if entry["event"] == "process_started":
            with pytest.raises(ProcessLookupError):
                os.kill(entry["pid"], 0)
    with socket.socket() as alone:
        alone.bind((serving.address.host, serving.address.port))
