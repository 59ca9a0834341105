"""Answers as bytes. The part of a header that repeats is built once."""

from __future__ import annotations

import time
from email.utils import formatdate
from functools import lru_cache
from http import HTTPStatus
from typing import Final

from tenure_http.message import Response

CONTINUE: Final = b"HTTP/1.1 100 Continue\r\n\r\n"


def encode(response: Response, *, close: bool, with_body: bool = True) -> bytes:
    """The bytes of an answer. `close` announces that the connection ends with it; HEAD goes without body."""
    extra = "".join(f"{name}: {value}\r\n" for name, value in response.headers) if response.headers else ""
    return b"%b%d\r\n%b%b\r\n%b" % (
        _prefix(response.status, response.content_type, close),
        len(response.body),
        _date(int(time.time())),
        extra.encode("ascii"),
        response.body if with_body else b"",
    )


@lru_cache(maxsize=256)
def _prefix(status: int, content_type: str, close: bool) -> bytes:
    connection = "Connection: close\r\n" if close else ""
    phrase = HTTPStatus(status).phrase
    return (
        f"HTTP/1.1 {status} {phrase}\r\nContent-Type: {content_type}\r\n{connection}Content-Length: "
    ).encode("ascii")


@lru_cache(maxsize=1)
def _date(second: int) -> bytes:
    return f"Date: {formatdate(second, usegmt=True)}\r\n".encode("ascii")
