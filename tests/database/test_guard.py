"""The state guards: every pair of states is tried on the real tables, whoever asks."""

from __future__ import annotations

from itertools import product

import asyncpg
import pytest

from tenure_contracts import attempt, cursor, lease, recovery, run, session
from tenure_contracts.machine import Table
from tenure_control.migration.guard import GUARDED, Guarded
from tests.harness import ScratchDatabase
from tests.harness.seed import Seed

STATES = {
    "run": run.STATES,
    "attempt": attempt.STATES,
    "lease": lease.STATES,
    "session": session.STATES,
    "cursor": cursor.STATES,
    "recovery": recovery.STATES,
}

KINDS = [(guarded, kind) for guarded in GUARDED for kind in guarded.transitions]
NAMES = [f"{guarded.machine} {kind}".strip() for guarded, kind in KINDS]

GUARD = "TN001"
"""The SQLSTATE of a transition that is not in the table."""

# One row of each table, in any state that its guard lets it be born in.
ROWS = """
INSERT INTO tenure.runs (run, project, kind, cause, status, version, event_sequence, priority,
                         idempotency_key, input, created_at)
VALUES (gen_random_uuid(), 'shop', 'workflow', 'manual', 'running', 1, 1, 5, 'flow', '{}', now());
INSERT INTO tenure.workers (worker, created_at) VALUES ('w1', now());
INSERT INTO tenure.worker_sessions
VALUES (gen_random_uuid(), 'w1', 1, 'online', 1, '{}', '{}', '{}', 1, '45 s', '', '{}', 0, NULL,
        now(), now(), now());
BEGIN;
UPDATE tenure.run_attempts SET dispatchable = false;
INSERT INTO tenure.run_leases (attempt, state, generation, version, worker, session, offer, token_digest,
                               acquired_at, renewed_at, expires_at)
SELECT attempt, 'leased', 1, 1, 'w1', gen_random_uuid(), gen_random_uuid(), sha256(''), now(), now(), now()
FROM tenure.run_attempts;
COMMIT;
INSERT INTO tenure.recovery_controls (attempt, status, lease_generation, lease_version, updated_at)
SELECT attempt, 'available', 1, 1, now() FROM tenure.run_attempts;
"""

# The guards alone are under test: other constraints would need each state's companions.
WITHOUT_CHECKS = """
DO $$
DECLARE c record;
BEGIN
    FOR c IN SELECT conname, conrelid::regclass AS on_table FROM pg_constraint
             WHERE contype = 'c' AND connamespace = 'tenure'::regnamespace LOOP
        EXECUTE format('ALTER TABLE %s DROP CONSTRAINT %I', c.on_table, c.conname);
    END LOOP;
END $$;
ALTER TABLE tenure.run_attempts DISABLE TRIGGER attempt_and_lease;
ALTER TABLE tenure.run_leases DISABLE TRIGGER lease_and_attempt;
"""


@pytest.fixture
def rows(database: ScratchDatabase) -> ScratchDatabase:
    """One row of each guarded table."""
    seed = Seed(database)
    seed.task("report")
    seed.trigger("nightly", "report")
    seed.run("report")
    database.execute(ROWS)
    database.execute(WITHOUT_CHECKS)
    return database


def refusal(database: ScratchDatabase, sql: str) -> str | None:
    """What a state guard says to a statement; None when no guard refuses it. Keys come after guards."""
    try:
        database.execute(sql)
    except asyncpg.UniqueViolationError:
        return None
    except asyncpg.PostgresError as error:
        if error.sqlstate != GUARD:
            raise
        return str(error)
    return None


def where(guarded: Guarded, kind: str) -> str:
    return f"{guarded.kind_column} = '{kind}'" if guarded.kind_column else "true"


def try_all(database: ScratchDatabase, guarded: Guarded, kind: str) -> set[tuple[str, str]]:
    """The changes of state that the database lets pass, tried one by one."""
    states, allowed = STATES[guarded.machine], set()
    change = f"UPDATE {guarded.table} SET {guarded.column} = '%s' WHERE {where(guarded, kind)}"
    for before, after in product(states, states):
        place = f"SET session_replication_role = replica; {change}; SET session_replication_role = origin"
        database.execute(place % before)
        said = refusal(database, change % after)
        if said is None:
            allowed.add((before, after))
        else:
            assert said == f"{guarded.machine} may not go from {before} to {after}"
    return allowed


@pytest.mark.parametrize(("guarded", "kind"), KINDS, ids=NAMES)
def test_the_database_allows_the_transitions_of_the_table_and_no_other(
    rows: ScratchDatabase, guarded: Guarded, kind: str
) -> None:
    table: Table = guarded.transitions[kind]
    staying = {(state, state) for state in STATES[guarded.machine]}
    assert try_all(rows, guarded, kind) == {edge for edge in table if edge[0] is not None} | staying


@pytest.mark.parametrize(("guarded", "kind"), KINDS, ids=NAMES)
def test_a_row_is_born_in_the_states_of_the_table_and_no_other(
    rows: ScratchDatabase, guarded: Guarded, kind: str
) -> None:
    again = (
        f"DO $$ DECLARE r {guarded.table}; BEGIN"
        f" SELECT * INTO STRICT r FROM {guarded.table} WHERE {where(guarded, kind)};"
        f" r.{guarded.column} := '%s'; INSERT INTO {guarded.table} SELECT r.*; END $$"
    )
    born = {state for state in STATES[guarded.machine] if refusal(rows, again % state) is None}
    assert born == {after for before, after in guarded.transitions[kind] if before is None}
