"""Secrets going to a starting attempt, and chunks of output coming from a started one."""

from __future__ import annotations

import base64
import binascii
import re
from typing import Annotated, Final, Literal
from uuid import UUID

from msgspec import Meta

from tenure_contracts import bounds
from tenure_contracts.wire.codec import Answer, Request
from tenure_contracts.wire.field import Generation, SecretName
from tenure_contracts.wire.lease import Fence, Starting

_BASE64URL: Final = re.compile(r"[A-Za-z0-9_-]*")
_DATA_CHARACTERS: Final = -(-bounds.LOG_CHUNK_BYTES * 4 // 3)


class Secrets(Starting, frozen=True, kw_only=True):
    """Ask for the values that the plan of a starting attempt names."""

    names: Annotated[tuple[SecretName, ...], Meta(min_length=1, max_length=bounds.SECRETS)]


class SecretValues(Answer, frozen=True, kw_only=True):
    """Answer of secrets."""

    values: dict[str, str]

    def __repr__(self) -> str:
        return f"SecretValues({', '.join(self.values)})"


class LogsBody(Request, frozen=True, kw_only=True):
    """`logs` without the session's generation."""

    request_id: UUID
    lease: Fence
    offset: Annotated[int, Meta(ge=0, le=2**63 - 1)]
    stream: Literal["stdout", "stderr", "agent"]
    data: Annotated[str, Meta(max_length=_DATA_CHARACTERS)]

    def __post_init__(self) -> None:
        decode_bytes(self.data)


class Logs(LogsBody, frozen=True, kw_only=True):
    """One chunk of one stream at its byte offset."""

    generation: Generation


class LogsStored(Answer, frozen=True, kw_only=True):
    """Answer of logs."""

    next_offset: int
    truncated: bool = False


def decode_bytes(text: str) -> bytes:
    """The bytes of base64url without padding. Raises ValueError for anything else."""
    if not _BASE64URL.fullmatch(text):
        raise ValueError("`data` is not base64url without padding")
    try:
        return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except binascii.Error as error:
        raise ValueError("`data` is not base64url without padding") from error


def encode_bytes(content: bytes) -> str:
    """Base64url without padding."""
    return base64.urlsafe_b64encode(content).decode().rstrip("=")
