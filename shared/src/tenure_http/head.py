"""Checks of a request that need its header alone: pure functions from parsed bytes to a `Head` or a refusal.

h11 parses. What is stricter here is what lets two parsers disagree about where a request ends: bare line
feeds, folded lines, repeated or listed lengths, a length beside a transfer coding.
"""

from __future__ import annotations

import re
from typing import Final

import h11

from tenure_contracts.error import Refusal
from tenure_http.limits import Limits
from tenure_http.message import Head
from tenure_http.route import Route

_CONTROLS: Final = bytes(byte for byte in (*range(32), 127) if byte not in b"\t\n\r")
_END: Final = b"\r\n\r\n"
_AUTHORITY: Final = re.compile(r"(?i)^https?://[^/?#]+")
_LENGTH_LINE: Final = re.compile(rb"(?i)\ncontent-length:[ \t]*([^\r\n]*)")

# Of these a second line is never a list, and a proxy may have read the other one.
_SINGULAR: Final = frozenset(
    {b"authorization", b"content-length", b"content-type", b"content-encoding", b"host", b"if-match"}
)


def check_block(received: bytearray, limits: Limits) -> None:
    """Whether what was received of a header is small enough to be parsed; the body may have begun after it.

    Parsing takes as long for an empty line as for a hundred bytes, and h11 bounds neither the lines nor what
    arrives complete in one read.

    Raises:
        Refusal: `uri_too_long`, `header_too_large`.
    """
    end = received.find(_END)
    size = len(received) if end < 0 else end + len(_END)
    if size > limits.header_bytes:
        # A request line that fills the bound alone is a target too long, not a header too large.
        if b"\n" not in received[: limits.header_bytes]:
            raise _long_target(limits)
        raise Refusal("header_too_large", f"The header may have at most {limits.header_bytes} bytes.")
    if received.count(b"\n", 0, size) > limits.headers + 2:
        raise Refusal("header_too_large", f"The header may have at most {limits.headers} lines.")


def inspect_head(event: h11.Request, block: bytes, limits: Limits, peer: str) -> Head:
    """The checked head of a request. `block` is the header as received, up to and with its blank line.

    A target in absolute form, which every server must take, is as good as its path.

    Raises:
        Refusal: `uri_too_long`, `upgrade_required`, `malformed_request`.
    """
    if len(event.target) > limits.target_bytes:
        raise _long_target(limits)
    if event.http_version not in {b"1.1", b"1.0"}:
        raise Refusal("upgrade_required", "This server speaks HTTP/1.1.")
    _check_lines(block)
    headers = _collect(event)
    if b"upgrade" in headers:
        raise Refusal("upgrade_required", "This server upgrades to no other protocol.")
    chunked = _check_coding(event, headers)
    length = _length(block) if b"content-length" in headers else None
    target = event.target.decode("ascii")
    path, _, query = _origin_form(target).partition("?")
    keep_alive = event.http_version == b"1.1" and b"close" not in _tokens(headers.get(b"connection", b""))
    return Head(event.method.decode("ascii"), target, path, query, headers, peer, length, chunked, keep_alive)


def check_body(head: Head, route: Route) -> None:
    """Whether the body that `head` announces may be sent to `route`.

    Raises:
        Refusal: `expectation_failed`, `length_required`, `content_too_large`, `unsupported_media_type`.
    """
    if head.headers.get(b"expect", b"100-continue").lower() != b"100-continue":
        raise Refusal("expectation_failed", "The only expectation known here is 100-continue.")
    if head.chunked or head.content_length:
        _check_bound(head.content_length or 1, route.body_bytes)
        _check_media_type(head, route)
    elif head.content_length is None and route.body_bytes:
        raise Refusal("length_required", "Send Content-Length, or a chunked body.")


def too_large(body_bytes: int) -> Refusal:
    """The refusal of a body beyond its route's bound."""
    if not body_bytes:
        return Refusal("content_too_large", "This route takes no body.")
    return Refusal("content_too_large", f"The body may have at most {body_bytes} bytes.")


def _long_target(limits: Limits) -> Refusal:
    return Refusal("uri_too_long", f"The target may have at most {limits.target_bytes} bytes.")


def _origin_form(target: str) -> str:
    if target.startswith("/"):
        return target
    rest = _AUTHORITY.sub("", target, count=1)
    return f"/{rest}" if rest != target and not rest.startswith("/") else rest


def _check_lines(block: bytes) -> None:
    ends = block.count(b"\r\n")
    if block.count(b"\n") != ends or block.count(b"\r") != ends:
        raise Refusal("malformed_request", "Header lines end in CR LF.")
    if b"\n " in block or b"\n\t" in block:
        raise Refusal("malformed_request", "Folded header lines are obsolete.")
    if len(block.translate(None, _CONTROLS)) != len(block):
        raise Refusal("malformed_request", "The header has a control character.")


def _collect(event: h11.Request) -> dict[bytes, bytes]:
    # The items as sent are a plain list; iterating over h11's own view of them takes three times as long.
    pairs = [(name.lower(), value) for name, value in event.headers.raw_items()]
    headers = dict(pairs)
    return headers if len(headers) == len(pairs) else _joined(pairs)


def _joined(pairs: list[tuple[bytes, bytes]]) -> dict[bytes, bytes]:
    headers: dict[bytes, bytes] = {}
    for name, value in pairs:
        if name in headers and name in _SINGULAR:
            raise Refusal("malformed_request", f"The header {name.decode('ascii')} is there twice.")
        headers[name] = headers[name] + b", " + value if name in headers else value
    return headers


def _check_coding(event: h11.Request, headers: dict[bytes, bytes]) -> bool:
    if b"transfer-encoding" not in headers:
        return False
    if b"content-length" in headers:
        raise Refusal("malformed_request", "Content-Length and Transfer-Encoding exclude each other.")
    if event.http_version != b"1.1":
        raise Refusal("malformed_request", "HTTP/1.0 has no transfer codings.")
    return True


def _length(block: bytes) -> int:
    # Read from the bytes as received: h11 has merged equal lengths by now.
    lines = _LENGTH_LINE.findall(block)
    if len(lines) != 1 or not lines[0].strip().isdigit():
        raise Refusal("malformed_request", "Content-Length is one number, said once.")
    return int(lines[0])


def _tokens(value: bytes) -> list[bytes]:
    return [token.strip() for token in value.lower().split(b",")] if value else []


def _check_bound(length: int, body_bytes: int) -> None:
    if length > body_bytes:
        raise too_large(body_bytes)


def _check_media_type(head: Head, route: Route) -> None:
    if head.headers.get(b"content-encoding", b"identity").lower() != b"identity":
        raise Refusal("unsupported_media_type", "A body is sent without content coding.")
    given = head.headers.get(b"content-type", b"").decode("latin-1")
    if route.media_type is None or given == route.media_type:
        return
    kind, *parameters = (part.strip().lower() for part in given.split(";"))
    if kind != route.media_type or any(not _is_utf8(parameter) for parameter in parameters):
        raise Refusal("unsupported_media_type", f"The body must be {route.media_type} in UTF-8.")


def _is_utf8(parameter: str) -> bool:
    return parameter in {"", "charset=utf-8", 'charset="utf-8"'}
