"""The words that the database accepts are those of the contracts package."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import get_args

import pytest

from tenure_contracts import attempt, cursor, lease, recovery, run, session
from tenure_contracts.policy import Safety
from tests.harness import ScratchDatabase

WORDS: dict[str, Iterable[str]] = {
    "runs.status": run.STATES,
    "run_attempts.status": attempt.STATES,
    "run_leases.state": lease.STATES,
    "run_leases.release_reason": lease.RELEASE_REASONS,
    "worker_sessions.status": session.STATES,
    "trigger_cursors.state": cursor.STATES,
    "trigger_cursors.last_decision": cursor.DECISIONS,
    "recovery_controls.status": recovery.STATES,
    "run_retry_policies.safety": get_args(Safety),
}

CHECK = """
SELECT pg_get_constraintdef(c.oid) FROM pg_constraint c
JOIN pg_attribute a ON a.attrelid = c.conrelid AND c.conkey = ARRAY[a.attnum]
WHERE c.conrelid = ('tenure.' || $1)::regclass AND a.attname = $2
  AND pg_get_constraintdef(c.oid) LIKE 'CHECK ((' || $2 || ' = ANY (ARRAY[%'
"""


@pytest.mark.parametrize("column", WORDS)
def test_a_column_takes_the_words_of_the_contract(database: ScratchDatabase, column: str) -> None:
    check = database.value(CHECK, *column.split("."))
    assert set(re.findall(r"'(\w+)'::text", check)) == set(WORDS[column])
