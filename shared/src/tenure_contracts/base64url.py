"""Bytes as they stand on the wire: base64url without padding (RFC 4648, section 5)."""

from __future__ import annotations

import base64
import binascii
import re
from typing import Final

_TEXT: Final = re.compile(r"[A-Za-z0-9_-]*")


def encode(content: bytes) -> str:
    """The text of some bytes."""
    return base64.urlsafe_b64encode(content).decode().rstrip("=")


def decode(text: str) -> bytes:
    """The bytes of a text; spare bits of its last character are ignored. Raises ValueError."""
    if not _TEXT.fullmatch(text):
        raise ValueError("this is not base64url without padding")
    try:
        # A third of the time of base64.urlsafe_b64decode; a renewal of many leases has as many tokens.
        return binascii.a2b_base64(text.replace("-", "+").replace("_", "/") + "=" * (-len(text) % 4))
    except binascii.Error as error:
        raise ValueError("this is not base64url without padding") from error
