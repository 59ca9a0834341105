"""Bytes to requests: whole, byte by byte, with a tail; and everything that is no request."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tenure_contracts.error import Refusal
from tenure_http import Head, Limits
from tenure_http.parser import RequestParser
from tests.http.stage import get, post

CHUNKED = post(
    body=b'4\r\n{"a"\r\n3;x=y\r\n:1}\r\n0\r\n\r\n', length="", extra=["Transfer-Encoding: chunked"]
)
LIMITS = Limits()


def parse(data: bytes, size: int, limits: Limits = LIMITS) -> tuple[Head, bytes, RequestParser]:
    """Feeds `data` in pieces of `size` bytes."""
    parser = RequestParser(limits)
    pieces = [data[start : start + size] for start in range(0, len(data), size)]
    head = parser.receive_head(pieces.pop(0))
    while head is None:
        head = parser.receive_head(pieces.pop(0))
    body = parser.receive_body(None, 10_000)
    while body is None:
        body = parser.receive_body(pieces.pop(0), 10_000)
    return head, body, parser


def code_of(data: bytes, size: int = 65536, limits: Limits = LIMITS) -> str:
    with pytest.raises(Refusal) as caught:
        parse(data, size, limits)
    return caught.value.code


@pytest.mark.parametrize("size", [1, 2, 7, 65536])
@pytest.mark.parametrize(
    ("data", "body"), [(post(body=b'{"a":1}'), b'{"a":1}'), (CHUNKED, b'{"a":1}'), (get("/x"), b"")]
)
def test_a_request_is_the_same_in_any_pieces(data: bytes, body: bytes, size: int) -> None:
    head, got, parser = parse(data, size)
    assert (head.method, got) == (data.split(b" ")[0].decode(), body)
    assert not parser.has_tail


@pytest.mark.parametrize("data", [post(), CHUNKED, get("/x")])
def test_a_tail_is_seen_and_not_taken(data: bytes) -> None:
    _, _, parser = parse(data + b"G", 65536)
    assert parser.has_tail


def test_a_head_in_one_read_with_its_body_has_its_own_size() -> None:
    head, body, _ = parse(post(body=b"x" * 9000), 65536, Limits(header_bytes=200))
    assert (head.content_length, len(body)) == (9000, 9000)


def test_a_head_says_what_was_sent() -> None:
    head, _, _ = parse(
        post("/a/b%20c?x=1&y=", extra=["X-Trace: 1", "X-Trace: 2", "Authorization: Bearer s"]), 65536
    )
    assert (head.path, head.query, head.header("X-TRACE")) == ("/a/b%20c", {"x": "1", "y": ""}, "1, 2")
    assert head.header("absent") is None
    assert "Bearer" not in repr(head)
    assert head.id == head.id


@pytest.mark.parametrize("query", ["a", "a=1&a=2", "a=%ff"])
def test_an_odd_query_is_refused(query: str) -> None:
    head, _, _ = parse(post(f"/x?{query}"), 65536)
    with pytest.raises(Refusal, match="malformed_request"):
        _ = head.query


def with_lines(*lines: str, body: bytes = b"{}") -> bytes:
    return "\r\n".join(["POST /echo HTTP/1.1", "Host: t", *lines, "", ""]).encode() + body


MALFORMED = {
    "two lengths": with_lines("Content-Length: 2", "Content-Length: 2"),
    "two lengths, cases differ": with_lines("Content-Length: 2", "content-LENGTH: 2"),
    "listed lengths": with_lines("Content-Length: 2, 2"),
    "different lengths": with_lines("Content-Length: 2", "Content-Length: 3"),
    "signed length": with_lines("Content-Length: +2"),
    "negative length": with_lines("Content-Length: -2"),
    "empty length": with_lines("Content-Length:"),
    "hexadecimal length": with_lines("Content-Length: 0x2"),
    "length of 30 digits": with_lines("Content-Length: " + "9" * 30),
    "length and chunked": with_lines("Content-Length: 2", "Transfer-Encoding: chunked"),
    "chunked and length": with_lines("Transfer-Encoding: chunked", "Content-Length: 2"),
    "chunked in HTTP/1.0": with_lines("Transfer-Encoding: chunked").replace(b"HTTP/1.1", b"HTTP/1.0"),
    "two credentials": with_lines("Content-Length: 2", "Authorization: a", "Authorization: b"),
    "two media types": with_lines("Content-Length: 2", "Content-Type: a/b", "Content-Type: a/b"),
    "two hosts": with_lines("Content-Length: 2", "Host: b"),
    "no host": b"GET / HTTP/1.1\r\n\r\n",
    "space before colon": with_lines("Content-Length : 2"),
    "no colon": with_lines("Content-Length 2"),
    "folded line": with_lines("X-A: 1", " folded", "Content-Length: 2"),
    "folded length": with_lines("Content-Length: 2,", "\t2"),
    "bare line feeds": post().replace(b"\r\n", b"\n"),
    "one bare line feed": post().replace(b"test\r\n", b"test\n"),
    "bare carriage return": with_lines("X-A: 1\rX-B: 2"),
    "NUL in a value": with_lines("X-A: a\0b"),
    "NUL in a name": with_lines("X\0A: ab"),
    "NUL in the target": get("/a\0b"),
    "NUL in the method": get("/a", method="G\0T"),
    "NUL in the version": get("/a").replace(b"1.1", b"1.\0"),
    "NUL first": b"\0" + get("/x"),
    "folded request line": get("/a").replace(b" HTTP", b"\r\n HTTP"),
    "escape in a value": with_lines("X-A: a\x1bb"),
    "no version": b"GET /\r\n\r\n",
    "two spaces": b"GET  / HTTP/1.1\r\nHost: t\r\n\r\n",
    "empty line first": b"\r\n" + get("/x"),
    "a TLS hello": bytes.fromhex("16030100c4010000c00303") + b"\0" * 50,
    "chunk size no number": with_lines("Transfer-Encoding: chunked", body=b"zz\r\n{}\r\n0\r\n\r\n"),
    "chunk longer than said": with_lines("Transfer-Encoding: chunked", body=b"1\r\n{}\r\n0\r\n\r\n"),
    "chunk size of no digits": with_lines("Transfer-Encoding: chunked", body=b"\r\n{}\r\n0\r\n\r\n"),
    "signed chunk size": with_lines("Transfer-Encoding: chunked", body=b"+2\r\n{}\r\n0\r\n\r\n"),
    "folded trailer": with_lines("Transfer-Encoding: chunked", body=b"0\r\n X: 1\r\n\r\n"),
    "chunk size of 40 digits": with_lines("Transfer-Encoding: chunked", body=b"f" * 40 + b"\r\n{}"),
}  # fmt: skip


@pytest.mark.parametrize("size", [1, 65536])
@pytest.mark.parametrize("data", MALFORMED.values(), ids=MALFORMED.keys())
def test_malformed_bytes_are_no_request(data: bytes, size: int) -> None:
    assert code_of(data, size) == "malformed_request"


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (with_lines("Transfer-Encoding: gzip, chunked"), "not_available"),
        (with_lines("Transfer-Encoding: chunked, chunked"), "not_available"),
        (with_lines("Transfer-Encoding: chunked, identity"), "not_available"),
        (with_lines("Transfer-Encoding: chunked", "Transfer-Encoding: chunked"), "not_available"),
        (with_lines("Transfer-Encoding: xchunked"), "not_available"),
        (with_lines("Transfer-Encoding: identity"), "not_available"),
        (get("/x").replace(b"1.1", b"1.2"), "upgrade_required"),
        (get("/x").replace(b"1.1", b"3.0"), "upgrade_required"),
        (with_lines("Content-Length: 2", "Connection: Upgrade", "Upgrade: websocket"), "upgrade_required"),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "upgrade_required"),
        (post("/" + "a" * 2048), "uri_too_long"),
        (post("/" + "a" * 40_000), "uri_too_long"),
        (b"GET /" + b"a" * 40_000, "uri_too_long"),
        (post(extra=["X: " + "a" * 17_000]), "header_too_large"),
        (post(extra=["X: " + "a" * 17_000])[:-30], "header_too_large"),
        (post(extra=[f"X{number}: 1" for number in range(62)]), "header_too_large"),
        (get("/")[:-2] + b"X:\r\n" * 100, "header_too_large"),
    ],
)  # fmt: skip
def test_other_refusals_of_a_head(data: bytes, code: str) -> None:
    assert code_of(data, 65536) == code
    assert code_of(data, 1024) == code


def test_the_bounds_themselves_are_allowed() -> None:
    head, _, _ = parse(post("/" + "a" * 2047, extra=[f"X{number}: 1" for number in range(61)]), 65536)
    assert (len(head.target), len(head.headers)) == (2048, 64)


@pytest.mark.parametrize("size", [7, 1000, 65536])
def test_a_header_may_have_16_kib_and_not_a_byte_more(size: int) -> None:
    rest = len(post(body=b"", length="0", extra=["X: "]))
    fill = "a" * (16 * 1024 - rest)
    parse(post(body=b"", length="0", extra=["X: " + fill]), size)
    assert code_of(post(body=b"", length="0", extra=["X: " + fill + "a"]), size) == "header_too_large"


def test_a_flood_of_lines_is_refused_before_anybody_parses_it() -> None:
    parser = RequestParser(LIMITS)
    with pytest.raises(Refusal, match="header_too_large"):
        parser.receive_head(get("/")[:-2] + b"X:\r\n" * 16_000 + b"\r\n")
    assert parser._h11.trailing_data[0] == b""


@pytest.mark.parametrize(
    ("target", "path", "query"),
    [
        ("http://test/echo", "/echo", ""),
        ("HTTPS://user@other:8443/echo?x=1", "/echo", "x=1"),
        ("http://test", "/", ""),
        ("http://test?x=1", "/", "x=1"),
        ("/http://test/echo", "/http://test/echo", ""),
        ("//test/echo", "//test/echo", ""),
        ("ftp://test/echo", "ftp://test/echo", ""),
        ("http:///echo", "http:///echo", ""),
        ("*", "*", ""),
        ("test:443", "test:443", ""),
    ],
)
def test_an_absolute_target_is_as_good_as_its_path(target: str, path: str, query: str) -> None:
    head, _, _ = parse(get(target), 65536)
    assert (head.target, head.path, head.query_string) == (target, path, query)


def test_a_refusal_does_not_quote_the_peer() -> None:
    with pytest.raises(Refusal) as caught:
        parse(with_lines("Authorization Bearer tw1_secret"), 65536)
    assert "secret" not in caught.value.detail


def test_a_chunked_body_is_bounded_in_bytes_and_in_chunks() -> None:
    chunked = with_lines("Transfer-Encoding: chunked", body=b"")
    parser = RequestParser(LIMITS)
    assert parser.receive_head(chunked) is not None
    with pytest.raises(Refusal, match="content_too_large"):
        parser.receive_body(b"5\r\nabcde\r\n", 4)
    parser = RequestParser(Limits(chunks=3))
    assert parser.receive_head(chunked) is not None
    with pytest.raises(Refusal, match="content_too_large"):
        parser.receive_body(b"1\r\na\r\n" * 4, 1000)


def test_a_body_that_came_with_its_head_is_bounded_too() -> None:
    parser = RequestParser(LIMITS)
    assert parser.receive_head(post(body=b"12345")) is not None
    with pytest.raises(Refusal, match="content_too_large"):
        parser.receive_body(None, 4)


def of_chunks(body: bytes) -> bytes:
    return with_lines("Transfer-Encoding: chunked", body=body)


@pytest.mark.parametrize("size", [1, 65536])
@pytest.mark.parametrize(
    ("data", "code"),
    [
        (of_chunks(b"1\r\na\r\n" * 1025), "content_too_large"),
        (of_chunks(b"fffffffffffffff\r\n" + b"a" * 10_001), "content_too_large"),
        (of_chunks(b"1;" + b"x" * 17_000), "header_too_large"),
        (of_chunks(b"1" * 17_000), "header_too_large"),
        (of_chunks(b"0\r\n" + b"X: 1\r\n" * 3000), "header_too_large"),
        (of_chunks(b"0\r\nX: " + b"a" * 17_000), "header_too_large"),
    ],
    ids=["many chunks", "a giant chunk", "long extension", "long size", "many trailers", "long trailer"],
)
def test_bombs_of_chunks_end_at_a_bound(data: bytes, code: str, size: int) -> None:
    assert code_of(data, size) == code


def test_extensions_and_trailers_are_dropped() -> None:
    head, body, parser = parse(of_chunks(b"1;a=b;c\r\n{\r\n1;d\r\n}\r\n0;e\r\nHost: x\r\n\r\n"), 65536)
    assert (body, head.header("host"), parser.has_tail) == (b"{}", "t", False)


def end_in_head(parser: RequestParser) -> None:
    parser.receive_head(b"POST / HT")
    parser.receive_head(b"")


def end_in_body(parser: RequestParser) -> None:
    parser.receive_head(post(body=b"{", length="2"))
    parser.receive_body(None, 10)
    parser.receive_body(b"", 10)


@pytest.mark.parametrize("ends", [end_in_head, end_in_body])
def test_a_stream_that_ends_early_is_malformed(ends: Callable[[RequestParser], None]) -> None:
    with pytest.raises(Refusal, match="malformed_request"):
        ends(RequestParser(LIMITS))


@settings(deadline=None)
@given(st.binary(max_size=300), st.integers(1, 50))
def test_noise_is_a_refusal_or_an_unfinished_head_never_another_error(noise: bytes, size: int) -> None:
    parser = RequestParser(LIMITS)
    try:
        for start in range(0, len(noise), size):
            if parser.receive_head(noise[start : start + size]) is not None:
                return
    except Refusal:
        pass


@settings(deadline=None)
@given(st.data())
def test_one_damaged_byte_is_a_refusal_or_a_request(data: st.DataObject) -> None:
    raw = bytearray(CHUNKED)
    raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    parser = RequestParser(LIMITS)
    try:
        if parser.receive_head(bytes(raw)) is not None:
            parser.receive_body(None, 10_000)
    except Refusal:
        pass
