"""Keyset pages with opaque cursors, and the query parameters of lists."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar
from uuid import UUID

from tenure_contracts import base64url, bounds
from tenure_contracts.error import Refusal
from tenure_contracts.identity import IdentityError, check_name, parse_uuid
from tenure_contracts.operator.page import Page
from tenure_http import Request
from tenure_postgres.database import Row

T = TypeVar("T")
K = TypeVar("K", str, int, UUID)

_COMMON: Final = ("limit", "cursor")


@dataclass(frozen=True, slots=True)
class Asked:
    """What a list request asks for: at most `limit` items after the one with the key `after`."""

    limit: int
    after: str | None
    filters: dict[str, str]


def asked_page(request: Request, *filters: str) -> Asked:
    """Read the query of a list. Raises Refusal for an unknown name, a bad limit or a bad cursor."""
    query = request.query
    allowed = (*_COMMON, *filters)
    for name in query:
        if name not in allowed:
            raise Refusal("unknown_field", f"The query has {name!r}; it may have {', '.join(allowed)}.")
    after = _decoded(query["cursor"]) if "cursor" in query else None
    return Asked(_limit(query.get("limit")), after, {name: query[name] for name in filters if name in query})


def after_number(asked: Asked) -> int:
    """The cursor of a list that is ordered by a number; 0 at its beginning."""
    return _key(asked.after or "0", _number)


def after_id(asked: Asked) -> UUID | None:
    """The cursor of a list that is ordered by an id."""
    return None if asked.after is None else _key(asked.after, parse_uuid)


def after_name(asked: Asked) -> str | None:
    """The cursor of a list that is ordered by a name."""
    return None if asked.after is None else _key(asked.after, check_name)


def page(rows: Sequence[Row], asked: Asked, key: str, item: Callable[[Row], T]) -> Page[T]:
    """The page of rows that were read up to one more than asked for; `key` is the column of the cursor."""
    shown = rows[: asked.limit]
    more = len(rows) > asked.limit
    return Page(
        items=[item(row) for row in shown],
        next=base64url.encode(str(shown[-1][key]).encode()) if more else None,
    )


def _limit(text: str | None) -> int:
    if text is None:
        return bounds.LIST_ITEMS
    if not text.isascii() or not text.isdigit() or not 1 <= int(text[:9]) <= bounds.LIST_ITEMS_MAX:
        raise Refusal("invalid_field", f"limit must be 1 to {bounds.LIST_ITEMS_MAX}, not {text[:20]!r}.")
    return int(text)


def _decoded(cursor: str) -> str:
    try:
        return base64url.decode(cursor).decode()
    except ValueError as error:
        raise _bad_cursor() from error


def _key(text: str, read: Callable[[str], K]) -> K:
    try:
        return read(text)
    except IdentityError as error:
        raise _bad_cursor() from error


def _number(text: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text[:12]) > bounds.SEQUENCE_MAX:
        raise IdentityError("not a number")
    return int(text)


def _bad_cursor() -> Refusal:
    return Refusal("invalid_field", "The cursor is not one that this list gave.")
