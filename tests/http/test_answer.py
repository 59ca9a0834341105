"""Answers: their bytes, and refusals as problem documents."""

from __future__ import annotations

import json
from email.utils import parsedate_to_datetime

import h11
import pytest

from tenure_contracts.error import CODES, Refusal
from tenure_http import Limits, Response, problem
from tenure_http.encoding import encode


def parsed(data: bytes) -> tuple[h11.Response, bytes]:
    connection = h11.Connection(h11.CLIENT)
    connection.send(h11.Request(method="GET", target="/", headers=[("Host", "x")]))
    connection.send(h11.EndOfMessage())
    connection.receive_data(data)
    head = connection.next_event()
    assert isinstance(head, h11.Response)
    body = connection.next_event()
    return head, bytes(body.data) if isinstance(body, h11.Data) else b""


def test_an_answer_is_http() -> None:
    head, body = parsed(encode(Response(201, b'{"a":1}', headers=(("X-A", "b"),)), close=False))
    headers = dict(head.headers)
    assert (head.status_code, head.reason, body) == (201, b"Created", b'{"a":1}')
    assert headers[b"content-type"] == b"application/json"
    assert (headers[b"x-a"], headers[b"content-length"]) == (b"b", b"7")
    assert b"connection" not in headers
    assert parsedate_to_datetime(headers[b"date"].decode()).tzinfo is not None


def test_an_answer_announces_the_end_and_head_has_no_body() -> None:
    data = encode(Response(200, b"abc"), close=True, with_body=False)
    assert b"Connection: close\r\n" in data
    assert b"Content-Length: 3\r\n" in data
    assert data.endswith(b"\r\n\r\n")


@pytest.mark.parametrize("status", [100, 101, 204, 304, 299, 999])
def test_a_status_without_a_body_is_no_response(status: int) -> None:
    with pytest.raises(ValueError, match="status"):
        Response(status, b"")


@pytest.mark.parametrize("value", ["a\r\nSet-Cookie: b", "a\nb", "a\0b", "ä"])
def test_a_header_cannot_break_the_framing(value: str) -> None:
    with pytest.raises(ValueError, match="characters"):
        Response(200, b"", headers=(("X-A", value),))
    with pytest.raises(ValueError, match="characters"):
        Response(200, b"", content_type=value)


@pytest.mark.parametrize("code", CODES)
def test_every_code_is_a_whole_problem_document(code: str) -> None:
    response = problem(Refusal(code, "Why."), "r1")
    head, body = parsed(encode(response, close=False))
    rule = CODES[code]
    assert head.status_code == rule.status
    assert json.loads(body) == {
        "type": "about:blank",
        "title": rule.title,
        "status": rule.status,
        "code": code,
        "detail": "Why.",
        "disposition": rule.disposition,
        "request_id": "r1",
    }
    assert (b"retry-after" in dict(head.headers)) == (rule.retry_after_s is not None)


def test_members_of_a_refusal_are_members_of_its_document() -> None:
    response = problem(Refusal("attestation_conflict", last_sequence=3, request_id="theirs"), "ours")
    assert json.loads(response.body)["last_sequence"] == 3
    assert json.loads(response.body)["request_id"] == "theirs"


@pytest.mark.parametrize(
    ("refusal", "header"),
    [
        (Refusal("method_not_allowed", allow=["GET", "HEAD"]), ("Allow", "GET, HEAD")),
        (Refusal("credential_required"), ("WWW-Authenticate", 'Bearer realm="tenure"')),
        (Refusal("credential_refused"), ("WWW-Authenticate", 'Bearer realm="tenure"')),
        (Refusal("upgrade_required"), ("Upgrade", "HTTP/1.1")),
        (Refusal("session_conflict", retry_after_s=7.2), ("Retry-After", "8")),
    ],
)
def test_refusals_have_the_headers_of_their_status(refusal: Refusal, header: tuple[str, str]) -> None:
    assert header in problem(refusal, "r").headers


def test_waits_of_a_503_are_spread() -> None:
    waits = {dict(problem(Refusal("busy", retry_after_s=10), "r").headers)["Retry-After"] for _ in range(100)}
    assert len(waits) > 5
    assert all(10 <= int(wait) <= 20 for wait in waits)


@pytest.mark.parametrize("name", ["in_flight", "header_time_s", "sweep_s"])
def test_limits_are_positive(name: str) -> None:
    with pytest.raises(ValueError, match=name):
        Limits(**{name: 0})
