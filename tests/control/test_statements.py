"""Every statement of the cadences is prepared as the role that sends it, and the hot ones use their index."""

from __future__ import annotations

import re
from uuid import UUID

import pytest

from tenure_control.decision.recovery import LEASE_MAX
from tenure_control.decision.schedule import CLOCK_TOLERANCE
from tenure_control.repository.cursor.claim import CLAIM
from tenure_postgres.query import folder
from tests.harness import ScratchDatabase

FOLDERS = ("admission", "attempt", "cancellation", "cursor", "frontier", "recovery", "retry")

STATEMENTS = [
    (name, statement) for name in FOLDERS for statement in folder(f"tenure_control.repository.{name}")
]


def sql(name: str, statement: str) -> str:
    """One statement."""
    return folder(f"tenure_control.repository.{name}")[statement]


async def test_every_statement_can_be_prepared_as_its_role(database: ScratchDatabase) -> None:
    async with database.session("tenure_control") as session:
        for name, statement in STATEMENTS:
            await session.execute(f"PREPARE {name}_{statement} AS {sql(name, statement)}")
        prepared = await session.rows("SELECT FROM pg_prepared_statements WHERE NOT name LIKE '\\_%'")
    assert len(prepared) == len(STATEMENTS)


NOBODY = UUID(int=0)

HOT = [
    ("retry", "look_due", (17,), "runs_retry_due"),
    ("retry", "look_lost", (17,), "runs_lost"),
    ("frontier", "look", (None, 33), "runs_open_workflows"),
    ("admission", "look", (None, 33), "runs_queued"),
    ("cancellation", "look", (None, 33), "runs_cancel_requested"),
    ("recovery", "look", (17, LEASE_MAX), "run_leases_(live|of_session)"),
    ("recovery", "look", (17, LEASE_MAX), "run_attempts_started"),
    ("cursor", "claim_due", ("one/1", NOBODY, CLAIM), "trigger_cursors_due"),
    ("cursor", "claim_regressed", ("one/1", NOBODY, CLAIM, CLOCK_TOLERANCE), "trigger_cursors_observed"),
]


@pytest.mark.parametrize(("name", "statement", "arguments", "index"), HOT)
async def test_a_hot_statement_uses_its_index(
    database: ScratchDatabase, name: str, statement: str, arguments: tuple[object, ...], index: str
) -> None:
    async with database.session("tenure_control") as session:
        # The tables are empty, where a scan of the whole is always cheapest: forbid it, as size would.
        await session.execute("SET enable_seqscan = off")
        rows = await session.rows(f"EXPLAIN {sql(name, statement)}", *arguments)
    assert re.search(index, "\n".join(row[0] for row in rows))
