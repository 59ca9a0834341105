"""What can go wrong with the database, in the words of its users.

A driver knows two hundred errors; a caller can do one of few things: try again soon, wait until the server is
back, decide anew from fresh facts, blame its data, ask what happened, or tell the operator. Every error that
leaves this package is one of these classes, made by `translate` from a table of SQLSTATE codes.
"""

# ruff: noqa: N818 - the names say what happened; that they are errors is said by `raise`
from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Self

import asyncpg


class DatabaseError(Exception):
    """Something of the database failed. A direct instance is a fault of the server itself, or a bug of ours.

    `sqlstate` is the server's five-character code, or None when the server said nothing.
    """

    def __init__(self, message: str, sqlstate: str | None = None) -> None:
        super().__init__(message)
        self.sqlstate = sqlstate

    def again(self) -> Self:
        """The same error anew, for another task: a raised exception carries one traceback only."""
        return type(self)(str(self), self.sqlstate)


class Busy(DatabaseError):
    """Nothing happened and it may work in a moment: no free connection, a lock, a time-out, a deadlock."""

    @property
    def raced(self) -> bool:
        """Whether somebody else held or changed the same row."""
        return self.sqlstate in RACED

    @property
    def repeatable(self) -> bool:
        """Whether the same transaction may simply be run again: it was the victim of an interleaving."""
        return self.sqlstate in REPEATABLE


class Overloaded(Busy):
    """Nothing happened: too many requests are already waiting."""


class Unavailable(DatabaseError):
    """The server cannot be reached, does not answer, shuts down, or is not a writable primary.

    Nothing was committed.
    """


class Misconfigured(DatabaseError):
    """The server answered and refuses: no such database, role, table or function, or no privilege."""


class Conflict(DatabaseError):
    """A rule of the database refused the change: a unique key, a foreign key, a check, a state guard."""


class DataFault(DatabaseError):
    """The data of one statement is at fault: it cannot be encoded, is out of range, or is too large."""


class OutcomeUnknown(DatabaseError):
    """The connection was lost after COMMIT was sent. Read what happened; never repeat blindly."""


RACED = frozenset({"55P03", "40001", "40P01"})

# 0A000 as the driver's InvalidCachedStatementError: the schema changed under a prepared statement.
REPEATABLE = frozenset({"40001", "40P01", "0A000"})

# Full codes first, then classes (the first two characters).
KINDS: dict[str, type[DatabaseError]] = {
    "08": Unavailable,  # connection
    "57P01": Unavailable,  # administrator shut the server down
    "57P02": Unavailable,  # another backend crashed
    "57P03": Unavailable,  # starting up
    "57P04": Misconfigured,  # the database was dropped
    "57P05": Unavailable,  # idle session ended
    "25006": Unavailable,  # read-only: not the primary
    "25P03": Busy,  # idle in transaction for too long
    "53": Busy,  # out of connections, memory or disk
    "55P03": Busy,  # lock_timeout, NOWAIT
    "57014": Busy,  # statement_timeout
    "40": Busy,  # serialization failure, deadlock
    "28": Misconfigured,  # role or password
    "3D": Misconfigured,  # no such database
    "3F": Misconfigured,  # no such schema
    "42": Misconfigured,  # no such table, column or function; no privilege
    "23": Conflict,  # constraints
    "27": Conflict,
    "P0": Conflict,  # raised by a function or trigger
    "TN": Conflict,  # raised by the state guards of Tenure
    "21": DataFault,
    "22": DataFault,  # cannot be a value of that type
    "54": DataFault,  # too long, too many
}


# Classes whose texts quote what is in rows and parameters: in a DETAIL, and in the driver's own complaint.
QUOTING = frozenset({"22", "23"})

_PARAMETER = re.compile(r"(invalid input for query argument \$\d+).*", re.DOTALL)


def translate(error: BaseException, *, lost: bool, commit_sent: bool) -> BaseException:
    """The error to raise instead of a driver's; an error of the caller's own code is returned as it is.

    The driver's own, which becomes its cause and may come into a log with it, forgets what it quotes.

    Args:
        lost: the connection did not survive.
        commit_sent: COMMIT, or a statement that commits by itself, was sent before.
    """
    if isinstance(error, asyncpg.PostgresError):
        _forget_quotes(error)
    if lost and commit_sent:
        return OutcomeUnknown(
            f"the connection was lost while the commit was under way: {error}", _code(error)
        )
    if isinstance(error, asyncpg.InvalidCachedStatementError):
        return Busy(str(error), "0A000")
    if isinstance(error, asyncpg.PostgresError):
        return _kind(error.sqlstate)(str(error), error.sqlstate)
    if isinstance(error, asyncpg.ClientConfigurationError):
        return Misconfigured(str(error))
    if lost or isinstance(error, OSError):
        return Unavailable(f"the connection was lost: {str(error) or type(error).__name__}")
    if isinstance(error, asyncpg.InterfaceError | asyncpg.InternalClientError):
        return DatabaseError(str(error))
    return error


def _forget_quotes(error: asyncpg.PostgresError) -> None:
    if (error.sqlstate or "")[:2] in QUOTING:
        error.detail = None
        error.args = (_PARAMETER.sub(r"\1", str(error.args[0])), *error.args[1:])


def _kind(sqlstate: str | None) -> type[DatabaseError]:
    code = sqlstate or ""
    return KINDS.get(code) or KINDS.get(code[:2]) or DatabaseError


def _code(error: BaseException) -> str | None:
    return error.sqlstate if isinstance(error, asyncpg.PostgresError) else None


@contextmanager
def translated() -> Iterator[None]:
    """Inside a unit: raise this package's errors for the statements of the block, to decide by their class.

    After an error of the server a transaction can only be rolled back, or go back to a savepoint.
    """
    try:
        yield
    except Exception as error:
        meant = translate(error, lost=False, commit_sent=False)
        if meant is error:
            raise
        raise meant from error
