"""The certificate that a server context really shows, and until when it is good.

The standard library tells what a peer's verified certificate says, and nothing of one's own. So the context
is asked the way a client would: in memory, without a socket.
"""

from __future__ import annotations

import hashlib
import ssl
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

_UTC_TIME: Final = 0x17
_VERSION: Final = 0xA0


@dataclass(frozen=True)
class Certificate:
    """A leaf certificate: the SHA-256 of its DER form in lower-case hex, and the last moment it is good."""

    fingerprint: str
    not_after: datetime

    @property
    def fields(self) -> dict[str, str]:
        """As logs and answers show it."""
        return {
            "not_after": f"{self.not_after:%Y-%m-%dT%H:%M:%SZ}",
            "fingerprint": f"sha256:{self.fingerprint}",
        }


def shown_by(context: ssl.SSLContext) -> Certificate:
    """The certificate of a server context. Raises ssl.SSLError when it cannot shake hands at all."""
    der = _leaf(context)
    return Certificate(hashlib.sha256(der).hexdigest(), _not_after(der))


def _leaf(context: ssl.SSLContext) -> bytes:
    asking = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    asking.check_hostname = False
    asking.verify_mode = ssl.CERT_NONE
    up, down = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = asking.wrap_bio(down, up)
    server = context.wrap_bio(up, down, server_side=True)
    # The client is through after the server's first flight. Whether the server likes us, nobody asks.
    for side in (client, server, client):
        with suppress(ssl.SSLWantReadError):
            side.do_handshake()
    der = client.getpeercert(binary_form=True)
    assert der is not None, "a server of TLS 1.3 shows a certificate"
    return der


def _not_after(der: bytes) -> datetime:
    """The end of the validity (RFC 5280, 4.1.2.5), which OpenSSL has parsed before us."""
    (_, certificate), *_ = _elements(der)
    (_, signed), *_ = _elements(certificate)
    fields = [content for tag, content in _elements(signed) if tag != _VERSION]
    (tag, end) = list(_elements(fields[3]))[1]
    digits = end.decode("ascii")
    if tag == _UTC_TIME:
        digits = ("19" if digits >= "5" else "20") + digits
    return datetime.strptime(digits, "%Y%m%d%H%M%SZ").replace(tzinfo=UTC)


def _elements(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Tags and contents of DER elements that follow each other."""
    at = 0
    while at < len(data):
        tag, size, at = data[at], data[at + 1], at + 2
        if size & 0x80:  # the length of the length
            digits, size = size & 0x7F, int.from_bytes(data[at : at + (size & 0x7F)])
            at += digits
        yield tag, data[at : at + size]
        at += size
