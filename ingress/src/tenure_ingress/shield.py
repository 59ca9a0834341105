"""The one border where errors of the database become refusals of the protocol."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from tenure_contracts.error import Refusal
from tenure_postgres.error import (
    Busy,
    Conflict,
    DataFault,
    Misconfigured,
    OutcomeUnknown,
    Overloaded,
    Unavailable,
)

UNIQUE: Final = "23505"


@contextmanager
def refusals() -> Iterator[None]:
    """Raise Refusal for what may pass by itself; anything else is a bug and stays one.

    An unknown outcome is answered like an outage: every call recognises its own repetition, so "the same
    again, later" is right whether or not it was committed.
    """
    try:
        yield
    except Overloaded as error:
        raise Refusal("overloaded", "Too many requests wait for the database.") from error
    except Busy as error:
        raise Refusal("busy", "A row is locked, or the database took too long.") from error
    except Conflict as error:
        # Two made the same id known at once: an offer or a session that was new to both. Sent again, the call
        # finds what the other made of it.
        if error.sqlstate != UNIQUE:
            raise
        raise Refusal("busy", "The same id was used by another request at the same moment.") from error
    except DataFault as error:
        raise Refusal("invalid_field", "The database cannot store a value of this request.") from error
    except (Unavailable, OutcomeUnknown, Misconfigured) as error:
        raise Refusal("database_unavailable", "The database does not answer.") from error
