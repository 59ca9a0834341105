"""The facts in a database: all of them in one picture, and how many of each there are."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any, Final, TypeAlias

from tests.harness import ScratchDatabase

Picture: TypeAlias = dict[str, list[dict[str, Any]]]

TABLES: Final = (
    *("runs", "run_attempts", "run_leases", "run_events", "spent_offers", "attempt_declines"),
    *("attestations", "recovery_controls", "workers", "worker_sessions", "project_shares"),
)

EVERYTHING: Final = " UNION ALL ".join(
    f"SELECT '{table}' AS table, to_jsonb(t)::text AS row FROM tenure.{table} t" for table in TABLES
)

# What a call adds is told by the types of its events, the rows that have none, and how far the versions went.
ADDED: Final = """
SELECT type AS what, count(*) AS number FROM tenure.run_events GROUP BY type
UNION ALL SELECT action, count(*) FROM tenure.security_audit_events
    WHERE action LIKE 'session.%' GROUP BY action
UNION ALL SELECT 'run version', coalesce(sum(version), 0) FROM tenure.runs
UNION ALL SELECT 'lease', count(*) FROM tenure.run_leases
UNION ALL SELECT 'lease version', coalesce(sum(version), 0) FROM tenure.run_leases
UNION ALL SELECT 'offer', count(*) FROM tenure.spent_offers
UNION ALL SELECT 'decline', count(*) FROM tenure.attempt_declines
UNION ALL SELECT 'attestation', count(*) FROM tenure.attestations
UNION ALL SELECT 'session', count(*) FROM tenure.worker_sessions
UNION ALL SELECT 'session version', coalesce(sum(version), 0) FROM tenure.worker_sessions
"""

GAPS: Final = """
SELECT run FROM tenure.runs r
CROSS JOIN LATERAL (SELECT array_agg(e.sequence ORDER BY e.sequence) AS told
                    FROM tenure.run_events e WHERE e.run = r.run) x
WHERE r.version <> r.event_sequence
   OR x.told IS DISTINCT FROM ARRAY(SELECT generate_series(1, r.event_sequence))
"""


def picture(database: ScratchDatabase, *, without: Collection[str] = ()) -> Picture:
    """Every fact there is, as rows in a fixed order. `without` names columns: `run_leases.version`."""
    rows: Picture = {table: [] for table in TABLES}
    for table, text in database.rows(f"{EVERYTHING} ORDER BY 1, 2"):
        facts: dict[str, Any] = json.loads(text)
        shown = {name: fact for name, fact in facts.items() if f"{table}.{name}" not in without}
        rows[table].append(shown)
    return rows


def counted(database: ScratchDatabase) -> Counter[str]:
    """How many there are of what a call can add."""
    return Counter({row["what"]: int(row["number"]) for row in database.rows(ADDED)})


@contextmanager
def nothing_changes(database: ScratchDatabase, *, but: Collection[str] = ()) -> Iterator[None]:
    """Expect that the block has no effect, apart from these columns: `run_leases.version`."""
    before = picture(database, without=but)
    yield
    changes = _changes(before, picture(database, without=but))
    assert not changes, json.dumps(changes, indent=1)


def _changes(before: Picture, after: Picture) -> dict[str, list[list[dict[str, Any]]]]:
    """Of each table that differs, the rows that are gone and the rows that came."""
    return {
        table: [[row for row in was if row not in now], [row for row in now if row not in was]]
        for (table, was), now in zip(before.items(), after.values(), strict=True)
        if was != now
    }


def check_events(database: ScratchDatabase) -> None:
    """Fail when the events of a run have a gap, or are not as many as its version says."""
    assert database.rows(GAPS) == []
