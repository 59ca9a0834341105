"""The one border where errors of the database become refusals, for both APIs alike."""

from __future__ import annotations

import logging
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Final

from tenure_contracts.error import Refusal
from tenure_postgres.error import (
    Busy,
    Conflict,
    DatabaseError,
    DataFault,
    Misconfigured,
    OutcomeUnknown,
    Overloaded,
    Unavailable,
)

UNIQUE: Final = "23505"

_log = logging.getLogger(__name__)

# The first class that an error is of.
_REFUSALS: Final[tuple[tuple[type[DatabaseError], str, str], ...]] = (
    (Overloaded, "overloaded", "Too many requests wait for the database."),
    (Busy, "busy", "A row is locked, or the database took too long."),
    (DataFault, "invalid_field", "The database cannot store a value of this request."),
    (Unavailable, "database_unavailable", "The database does not answer."),
    (Misconfigured, "database_unavailable", "The database is not as it must be."),
    # Every call recognises its own repetition, so "the same again" is right whether or not it happened.
    (OutcomeUnknown, "database_unavailable", "Whether it happened is not known. Repeat the same request."),
)


def refusals() -> AbstractContextManager[None]:
    """For its block, raise Refusal for what a caller can act on; anything else is a bug and stays one."""
    return _BORDER


class _Border:
    """Every request passes it, and a generator would cost as much as reading the request's JSON."""

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, _: type[BaseException] | None, error: BaseException | None, __: TracebackType | None
    ) -> None:
        refusal = _refusal(error) if isinstance(error, DatabaseError) else None
        if refusal is None:
            return
        if isinstance(error, Misconfigured):
            _log.error("the database is not as it must be: %s", error)
        raise refusal from error


_BORDER: Final = _Border()


def _refusal(error: DatabaseError) -> Refusal | None:
    # Two made the same known at once. Sent again, the request finds what the other made of it; a guard or a
    # check would refuse it for ever.
    if isinstance(error, Conflict) and error.sqlstate == UNIQUE:
        return Refusal("busy", "Somebody made the same known at the same moment. Repeat the request.")
    for kind, code, detail in _REFUSALS:
        if isinstance(error, kind):
            return Refusal(code, detail)
    return None
