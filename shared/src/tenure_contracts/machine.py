"""What all state machines share: the error of a transition that is not in the table."""

from __future__ import annotations

Edge = tuple[str | None, str]
"""One allowed transition; `None` is "not there yet"."""

Table = frozenset[Edge]


class StateError(Exception):
    """A transition that is not in the table: a defect of the caller, or a damaged row."""

    def __init__(self, machine: str, before: str | None, after: str) -> None:
        super().__init__(f"{machine}: {before or 'none'} -> {after} is not a transition")
        self.machine = machine
        self.before = before
        self.after = after


def edges(before: str | None, *after: str) -> Table:
    """The transitions from one state."""
    return frozenset((before, state) for state in after)


def check(machine: str, table: Table, before: str | None, after: str) -> None:
    """Raise StateError unless the table has the transition."""
    if (before, after) not in table:
        raise StateError(machine, before, after)
