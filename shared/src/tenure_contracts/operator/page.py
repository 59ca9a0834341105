"""Pages of lists, and the body of a call that needs a reason only."""

from __future__ import annotations

from typing import Annotated, Generic, TypeVar
from uuid import UUID

from msgspec import Meta

from tenure_contracts import bounds
from tenure_contracts.wire.codec import Answer, Request
from tenure_contracts.wire.field import NO_NUL

T = TypeVar("T")

Note = Annotated[str, Meta(max_length=bounds.NOTE_CHARACTERS, pattern=NO_NUL)]
Reason = Annotated[str, Meta(min_length=1, max_length=bounds.NOTE_CHARACTERS, pattern=NO_NUL)]
"""A note that the audit trail needs."""


class Page(Answer, Generic[T], frozen=True, kw_only=True):
    """One keyset page. `next` is the opaque cursor of the page after it."""

    items: list[T]
    next: str | None = None


class Noted(Request, frozen=True, kw_only=True):
    """Body of pause, resume, fire, archive, cancel, rerun and release."""

    request_id: UUID
    note: Note = ""


class Requested(Request, frozen=True, kw_only=True):
    """Body of a call that is replayable by its id and needs no reason: drain, issue, rotate, revoke."""

    request_id: UUID
