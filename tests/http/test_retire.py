"""Connections that are told to end with their next answer, as after a change of the TLS material."""

from __future__ import annotations

import pytest
import trio
import trio.testing

from tenure_http import Limits
from tests.http.stage import on_stage, post, route
from tests.http.test_waiting import Pull


@pytest.mark.parametrize("with_body", [False, True])
async def test_retired_connections_answer_once_more(with_body: bool, autojump_clock: trio.abc.Clock) -> None:
    async with on_stage(limits=Limits(idle_time_s=75)) as stage:
        idle, silent, halfway = stage.connect(), stage.connect(), stage.connect()
        await idle.ask(post())
        await halfway.tell(post(body=b"[1]")[:-1] if with_body else b"POST /ec")
        await trio.testing.wait_all_tasks_blocked()
        stage.service.retire_connections()
        rest = b"]" if with_body else post(body=b"[1]")[8:]
        for client, data in ((idle, post()), (silent, post()), (halfway, rest)):
            answer = await client.ask(data)
            assert (answer.status, answer.closes) == (200, True)
            assert await client.is_closed()
        assert not (await stage.connect().ask(post())).closes, "newer ones are not meant"


async def test_a_retired_connection_that_stays_idle_is_closed_in_time(autojump_clock: trio.abc.Clock) -> None:
    async with on_stage() as stage:
        client = stage.connect()
        await client.ask(post())
        stage.service.retire_connections()
        with trio.move_on_after(70) as scope:
            await client.is_closed()
        assert scope.cancelled_caught
        with trio.fail_after(10):
            assert await client.is_closed()


async def test_a_waiting_request_is_retired_with_its_answer(autojump_clock: trio.abc.Clock) -> None:
    pull = Pull()
    async with on_stage([route(pull.handle)]) as stage:
        client = stage.connect()
        await client.tell(post("/try"))
        await pull.begun.wait()
        stage.service.retire_connections()
        pull.work.set()
        answer = await client.hear()
        assert (answer.status, answer.closes) == (200, True)
