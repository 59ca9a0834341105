"""The client: what counts as an answer, and how it waits for one."""

from __future__ import annotations

from uuid import uuid4

import httpx
import pytest

from tenure_contracts.wire.session import Heartbeat, SessionAnswer
from tenure_worker import client
from tenure_worker.client import Client, Refused, Unanswered, backoff_s, read_answer
from tenure_worker.credential import Credential
from tests.harness.fake_ingress import TOKEN

MESSAGE = Heartbeat(request_id=uuid4(), generation=1)
ANSWER = (
    b'{"generation":1,"version":2,"status":"online","expires_at":"2026-12-01T00:00:00Z","added":"later",'
    b'"server_time":"2026-12-01T00:00:00.5Z","advice":{"heartbeat_s":15,"renew_s":10,"lease_s":30}}'
)


def _problem(code: str, status: int, disposition: str) -> bytes:
    return (
        f'{{"type":"about:blank","title":"t","status":{status},"code":"{code}","detail":"d",'
        f'"disposition":"{disposition}","request_id":null}}'
    ).encode()


def test_an_answer_may_have_fields_that_were_added_later() -> None:
    assert read_answer(httpx.Response(200, content=ANSWER), SessionAnswer).generation == 1


@pytest.mark.parametrize(
    ("status", "content"),
    [(200, b""), (200, b"<html>"), (200, b"{}"), (204, b""), (302, b""), (404, b"nginx"), (502, b"<html>")],
)
def test_what_does_not_speak_the_protocol_is_no_answer(status: int, content: bytes) -> None:
    with pytest.raises(Unanswered):
        read_answer(httpx.Response(status, content=content), SessionAnswer)


@pytest.mark.parametrize(
    ("header", "seconds"), [("1.5", 1.5), ("-3", 0), ("soon", 0), ("inf", 0), ("nan", 0), ("9999", 120)]
)
def test_retry_after_is_bounded(header: str, seconds: float) -> None:
    response = httpx.Response(503, content=_problem("busy", 503, "retry"), headers={"Retry-After": header})
    with pytest.raises(Refused) as caught:
        read_answer(response, SessionAnswer)
    assert caught.value.retry_after_s == seconds


def test_back_off_is_full_jitter_under_a_doubling_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "BACKOFF_BASE_S", 0.25)
    monkeypatch.setattr(client, "BACKOFF_CAP_S", 15.0)
    for tries, bound in [(0, 0.25), (1, 0.5), (5, 8.0), (6, 15.0), (10_000, 15.0)]:
        waits = [backoff_s(tries) for _ in range(300)]
        assert 0 <= min(waits) < 0.2 * bound
        assert 0.8 * bound < max(waits) <= bound


class Script(httpx.AsyncBaseTransport):
    """Answers from a list; an exception in it is raised."""

    def __init__(self, *steps: httpx.Response | Exception) -> None:
        self.steps = list(steps)
        self.bodies: list[bytes] = []

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        self.bodies.append(await request.aread())
        step = self.steps.pop(0)
        if isinstance(step, Exception):
            raise step
        return step


def _client(script: Script) -> Client:
    http = httpx.AsyncClient(transport=script, base_url="http://ingress")
    return Client(http, Credential(token=TOKEN), uuid4(), 1.0)


async def test_everything_is_repeated_word_for_word_until_there_is_an_answer() -> None:
    script = Script(
        httpx.ConnectError("refused"),
        httpx.ReadError("cut"),
        httpx.Response(503, content=_problem("draining", 503, "retry")),
        httpx.Response(401, content=_problem("credential_refused", 401, "fix")),
        httpx.Response(504, content=b"<html>"),
        httpx.Response(200, content=ANSWER),
    )
    answer = await _client(script).insist("heartbeat", MESSAGE, SessionAnswer)
    assert answer.version == 2
    assert len(set(script.bodies)) == 1
    assert len(script.bodies) == 6


@pytest.mark.parametrize("disposition", ["refresh", "stop", "settled", "fix"])
async def test_other_dispositions_end_the_repetition(disposition: str) -> None:
    script = Script(httpx.Response(409, content=_problem("lease_fenced", 409, disposition)))
    with pytest.raises(Refused) as caught:
        await _client(script).insist("heartbeat", MESSAGE, SessionAnswer)
    assert caught.value.disposition == disposition


async def test_impatient_calls_take_a_refused_credential_for_an_answer() -> None:
    script = Script(httpx.Response(401, content=_problem("credential_refused", 401, "fix")))
    with pytest.raises(Refused):
        await _client(script).insist("heartbeat", MESSAGE, SessionAnswer, is_patient=False)
