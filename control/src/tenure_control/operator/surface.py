"""What the operator API stands on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tenure_postgres.database import Database


def _nothing() -> None:
    """Nobody to tell: a later look finds it anyway."""


def _unheard(session: str) -> None:
    """Nobody waits."""


def _no_cycles() -> Sequence[object]:
    return ()


@dataclass(frozen=True, slots=True)
class Surface:
    """What every handler gets.

    Attributes:
        database: opened as `tenure_operator`.
        wake: called after a commit that gives the scheduler cadence something to do.
        dispatch: called after a commit that made work dispatchable; tells the ingress processes.
        recall: called with the id of a session after a commit of which its waiting pulls shall hear.
        cycles: the last cycle summaries, newest first, as values that JSON can carry.
    """

    database: Database
    wake: Callable[[], None] = _nothing
    dispatch: Callable[[], None] = _nothing
    cycles: Callable[[], Sequence[object]] = _no_cycles
    recall: Callable[[str], None] = _unheard
