"""The state guards of the database, generated from the tables of the contracts package.

A guard is the WHEN list of a trigger: a transition that is not in the table is refused, whoever asks, and
one that is in it costs no function call. (A lookup table costs twice as much per updated row.) The generated
text stands in a migration; a test generates it again and compares.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from tenure_contracts import attempt, cursor, lease, recovery, run, session
from tenure_contracts.machine import Table


@dataclass(frozen=True)
class Guarded:
    """One guarded column: by kind of row where `kind_column` says so, else under the kind ''."""

    machine: str
    table: str
    column: str
    transitions: Mapping[str, Table]
    kind_column: str | None = None


GUARDED = (
    Guarded("run", "tenure.runs", "status", run.TRANSITIONS, kind_column="kind"),
    Guarded("attempt", "tenure.run_attempts", "status", {"": attempt.TRANSITIONS}),
    Guarded("lease", "tenure.run_leases", "state", {"": lease.TRANSITIONS}),
    Guarded("session", "tenure.worker_sessions", "status", {"": session.TRANSITIONS}),
    Guarded("cursor", "tenure.trigger_cursors", "state", {"": cursor.TRANSITIONS}),
    Guarded("recovery", "tenure.recovery_controls", "status", {"": recovery.TRANSITIONS}),
)


def guard_sql() -> str:
    """Every guard, as statements; the same text for the same tables."""
    return "\n".join(_guard(guarded) for guarded in GUARDED)


def _guard(guarded: Guarded) -> str:
    """Two triggers: one for births, one for changes. Staying in a state is no transition."""
    births = _any_kind(guarded, _births)
    changes = _any_kind(guarded, _changes)
    arguments = f"'{guarded.machine}', '{guarded.column}'"
    return f"""\
CREATE TRIGGER {guarded.machine}_birth BEFORE INSERT ON {guarded.table} FOR EACH ROW
WHEN (NOT ({births}))
EXECUTE FUNCTION tenure.refuse_transition({arguments});

CREATE TRIGGER {guarded.machine}_transition BEFORE UPDATE OF {guarded.column} ON {guarded.table} FOR EACH ROW
WHEN (OLD.{guarded.column} <> NEW.{guarded.column} AND NOT (
    {changes}))
EXECUTE FUNCTION tenure.refuse_transition({arguments});
"""


def _any_kind(guarded: Guarded, condition: Callable[[str, Table], str]) -> str:
    conditions = []
    for kind, table in guarded.transitions.items():
        of_kind = f"NEW.{guarded.kind_column} = '{kind}' AND " if guarded.kind_column else ""
        conditions.append(f"{of_kind}{condition(guarded.column, table)}")
    return "\n    OR ".join(conditions)


def _births(column: str, table: Table) -> str:
    return f"NEW.{column} IN ({_quoted(after for before, after in table if before is None)})"


def _changes(column: str, table: Table) -> str:
    befores = sorted({before for before, _ in table if before is not None})
    lines = [_leaving(column, before, table) for before in befores]
    return f"CASE OLD.{column}\n        " + "\n        ".join(lines) + "\n        ELSE false END"


def _leaving(column: str, before: str, table: Table) -> str:
    return f"WHEN '{before}' THEN NEW.{column} IN ({_quoted(after for was, after in table if was == before)})"


def _quoted(states: Iterable[str]) -> str:
    return ", ".join(f"'{state}'" for state in sorted(states))
