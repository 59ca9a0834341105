"""What a database has had applied, held against what this package brings. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tenure_control.migration.file import Migration


class HistoryError(Exception):
    """The database's history and this package's files contradict each other. The text says what to do."""


@dataclass(frozen=True)
class Applied:
    """One row of the migration history."""

    id: int
    name: str
    checksum: bytes


def pending(applied: Sequence[Applied], migrations: Sequence[Migration]) -> tuple[Migration, ...]:
    """The migrations that are still to be applied, in order.

    Raises HistoryError when the history has a gap, a file was edited after it had been applied, or the
    database is ahead of this code.
    """
    for position, row in enumerate(applied, start=1):
        if row.id != position:
            raise HistoryError(
                f"migration {position:04} is missing from the history, though {row.name} was applied: "
                "the database was changed by hand; restore it from a backup"
            )
        if position > len(migrations):
            raise HistoryError(
                f"the database is ahead of this code: it has {row.name}, which this version does not know; "
                "run a version at least as new as the database"
            )
        if row.checksum != migrations[position - 1].checksum:
            raise HistoryError(
                f"{row.name} was applied with other content than the file has now: a migration is "
                "never edited; put the original file back and write a new one"
            )
    return tuple(migrations[len(applied) :])
