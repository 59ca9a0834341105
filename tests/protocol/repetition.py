"""The ways in which a call comes twice, one after the other."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias
from uuid import uuid4

import httpx
import pytest
import trio

from tests.harness import ScratchDatabase
from tests.harness.fake_worker import refused
from tests.protocol.call import PROVEN_OTHERWISE, Case
from tests.protocol.facts import nothing_changes
from tests.protocol.site import Site, address_of

Sending: TypeAlias = Callable[[ScratchDatabase, Site, Case], Awaitable[Any]]
"""Sends a call in its own way; the answer, or None when it did not arrive."""

HIDDEN: Final = {"server_time", "renew_s", "advice", "retry_after_s", "request_id"}
"""What is no fact: the time of the answer, and the pace."""

VERDICTS: Final = ("applied", "recorded", "replayed")


@dataclass(frozen=True)
class Way:
    """How the first sending goes, what happens in between, and how it is sent again, once or more."""

    first: Sending
    again: tuple[Sending, ...]
    between: Sending | None = None
    restart: bool = False


async def to_one(database: ScratchDatabase, site: Site, case: Case) -> Any:
    """Plainly, to the first replica."""
    return await case.send(site.one)


async def to_two(database: ScratchDatabase, site: Site, case: Case) -> Any:
    """Plainly, to the second replica."""
    return await case.send(site.two)


async def to_two_newer(database: ScratchDatabase, site: Site, case: Case) -> Any:
    """To the second replica, by a worker that knows how far the version of its lease has gone."""
    if "lease" not in case.body:
        return await case.send(site.two)
    version = database.value("SELECT version FROM tenure.run_leases WHERE attempt = $1", case.held.attempt)
    lease = {**case.body["lease"], "lease_version": version}
    return await replace(case, body={**case.body, "lease": lease}).send(site.two)


async def reply_lost(database: ScratchDatabase, site: Site, case: Case) -> Any:
    """To the first replica, whose answer is on its way when the connection breaks."""
    site.proxy.one_way("replies")
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_without_answer, site, case)
        await site.proxy.wait_held()
        site.proxy.cut()
    site.proxy.forward()


async def _without_answer(site: Site, case: Case) -> None:
    with pytest.raises(httpx.TransportError):
        await case.send(site.proxied)


async def request_cut(database: ScratchDatabase, site: Site, case: Case) -> Any:
    """Broken off in the header, before the body, in the body and one byte before its end; then whole."""
    head, body = _request(site, case)
    with nothing_changes(database):
        for part in (head[: len(head) // 2], head, head + body[: len(body) // 2], head + body[:-1]):
            await _send_and_leave(site, part)
    return await case.send(site.one)


def _request(site: Site, case: Case) -> tuple[bytes, bytes]:
    generation = {} if case.call.name in PROVEN_OTHERWISE else {"generation": case.generation}
    body = json.dumps({"request_id": str(uuid4()), **generation, **case.body}).encode()
    head = (
        f"POST /v1/sessions/{case.session}/{case.call.name} HTTP/1.1\r\nHost: tenure\r\n"
        f"Authorization: Bearer {case.token}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    return head.encode(), body


async def _send_and_leave(site: Site, part: bytes) -> None:
    """Send this much, end the stream, and wait until the server has done with it."""
    stream = await trio.open_tcp_stream(*address_of(site.ingress))
    async with stream:
        await stream.send_all(part)
        await stream.send_eof()
        with trio.fail_after(5):
            answer = b"".join([piece async for piece in stream])
    assert not answer.startswith(b"HTTP/1.1 200"), answer


async def renewal(database: ScratchDatabase, site: Site, case: Case) -> Any:
    """A renewal of the same lease; for calls about the session alone, a heartbeat."""
    worker = case.at(site.one)
    if case.call.renewal is None:
        with refused("session_fenced"):
            await worker.heartbeat()
    elif case.work is not None:
        (lease,) = (await worker.renew(case.work.with_()))["leases"]
        assert lease["status"] == case.call.renewal
    else:
        await worker.heartbeat()


WAYS: Final = {
    "on the same connection, and to another replica": Way(to_one, (to_one, to_two)),
    "after its answer was lost": Way(reply_lost, (to_two,)),
    "after it was cut": Way(request_cut, (to_one,)),
    "after a renewal": Way(to_one, (to_two, to_two_newer), between=renewal),
    "after a restart": Way(to_one, (to_two,), restart=True),
}


def facts(answer: Any, *, without: frozenset[str] = frozenset()) -> Any:
    """What a repetition must answer again: everything but verdicts, the time, the pace, and `without`."""
    if isinstance(answer, dict):
        return {
            name: facts(value, without=without)
            for name, value in answer.items()
            if name not in HIDDEN | without and value not in VERDICTS
        }
    return [facts(value, without=without) for value in answer] if isinstance(answer, list) else answer


def verdicts(answer: Any) -> tuple[str, ...]:
    """Every `applied`, `recorded` and `replayed` of an answer, in order."""
    if isinstance(answer, dict):
        return sum((verdicts(value) for value in answer.values()), ())
    if isinstance(answer, list):
        return sum(map(verdicts, answer), ())
    return (answer,) if answer in VERDICTS else ()
