"""Secrets going to a starting attempt, and chunks of output coming from a started one."""

from __future__ import annotations

from typing import Annotated, Final, Literal
from uuid import UUID

from msgspec import Meta

from tenure_contracts import base64url, bounds
from tenure_contracts.wire.codec import Answer, Request
from tenure_contracts.wire.field import Generation, SecretName
from tenure_contracts.wire.lease import Fence, Starting

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
        try:
            base64url.decode(self.data)
        except ValueError as error:
            raise ValueError(f"`data`: {error}") from error


class Logs(LogsBody, frozen=True, kw_only=True):
    """One chunk of one stream at its byte offset."""

    generation: Generation


class LogsStored(Answer, frozen=True, kw_only=True):
    """Answer of logs."""

    next_offset: int
    truncated: bool = False
