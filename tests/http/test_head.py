"""What a header must say about the body before any of it is read."""

from __future__ import annotations

import pytest

from tenure_contracts.error import Refusal
from tenure_http import Head, Limits, Route
from tenure_http.head import check_body
from tenure_http.parser import RequestParser
from tests.http.stage import echo, get, post

TAKES_JSON = Route("r", "POST", "/r", echo, body_bytes=100)
TAKES_ANY = Route("r", "POST", "/r", echo, body_bytes=100, media_type=None)
TAKES_NONE = Route("r", "GET", "/r", echo)


def head_of(data: bytes) -> Head:
    head = RequestParser(Limits()).receive_head(data)
    assert head is not None
    return head


def typed(content_type: str | None) -> bytes:
    line = f"Content-Type: {content_type}\r\n" if content_type is not None else ""
    return f"POST /r HTTP/1.1\r\nHost: t\r\n{line}Content-Length: 2\r\n\r\n".encode()


CHUNKED = post("/r", length="", extra=["Transfer-Encoding: chunked"])
ALLOWED = [
    (post("/r"), TAKES_JSON),
    (post("/r", length="100"), TAKES_JSON),
    (post("/r", length="0"), TAKES_JSON),
    (CHUNKED, TAKES_JSON),
    (typed("application/json; charset=utf-8"), TAKES_JSON),
    (typed('Application/JSON;charset="UTF-8"'), TAKES_JSON),
    (typed(None), TAKES_ANY),
    (typed("text/plain"), TAKES_ANY),
    (get("/r"), TAKES_NONE),
    (post("/r", length="0"), TAKES_NONE),
    (post("/r", extra=["Expect: 100-Continue"]), TAKES_JSON),
    (post("/r", extra=["Content-Encoding: identity"]), TAKES_JSON),
]
REFUSED = [
    (post("/r", length="101"), TAKES_JSON, "content_too_large"),
    (post("/r", length="99999999999999999999"), TAKES_JSON, "content_too_large"),
    (post("/r", length="1"), TAKES_NONE, "content_too_large"),
    (CHUNKED, TAKES_NONE, "content_too_large"),
    (post("/r", length=""), TAKES_JSON, "length_required"),
    (typed(None), TAKES_JSON, "unsupported_media_type"),
    (typed("text/plain"), TAKES_JSON, "unsupported_media_type"),
    (typed("application/json; charset=latin-1"), TAKES_JSON, "unsupported_media_type"),
    (post("/r", extra=["Content-Encoding: gzip"]), TAKES_JSON, "unsupported_media_type"),
    (post("/r", extra=["Expect: a-miracle"]), TAKES_JSON, "expectation_failed"),
]


@pytest.mark.parametrize(("data", "route"), ALLOWED)
def test_a_body_the_route_takes(data: bytes, route: Route) -> None:
    check_body(head_of(data), route)


@pytest.mark.parametrize(("data", "route", "code"), REFUSED)
def test_a_body_the_route_does_not_take(data: bytes, route: Route, code: str) -> None:
    with pytest.raises(Refusal) as caught:
        check_body(head_of(data), route)
    assert caught.value.code == code


@pytest.mark.parametrize(
    ("data", "keeps"),
    [
        (post(), True),
        (post(extra=["Connection: keep-alive"]), True),
        (post(extra=["Connection: Keep-Alive, Close"]), False),
        (post().replace(b"HTTP/1.1", b"HTTP/1.0"), False),
    ],
)
def test_who_wants_the_connection_kept(data: bytes, keeps: bool) -> None:
    assert head_of(data).keep_alive is keeps
