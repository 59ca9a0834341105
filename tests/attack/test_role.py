"""Whoever has the password of the ingress's role and no proof changes nothing, whatever is passed."""

from __future__ import annotations

import random
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

import asyncpg

from tests.harness import ScratchDatabase, Session
from tests.harness.seed import Seed

FUNCTIONS: Final = """
SELECT p.proname AS name, ARRAY(
    SELECT format_type(t.type, NULL) FROM unnest(p.proargtypes) WITH ORDINALITY t (type, at)
    ORDER BY t.at) AS types
FROM pg_proc p WHERE p.pronamespace = 'ingress_api'::regnamespace ORDER BY p.proname
"""

# Of each type what is nothing, what is ordinary, and what is too much.
VALUES: Final = {
    "text": ["NULL", "''", "'x'", "repeat('x', 10000)"],
    "bytea": ["NULL", "''", "sha256('x')"],
    "uuid": ["NULL", "gen_random_uuid()", "'{attempt}'"],
    "integer": ["NULL", "1", "-1", "2147483647"],
    "bigint": ["NULL", "1"],
    "double precision": ["NULL", "30", "'NaN'", "'Infinity'", "-1"],
    "jsonb": ["NULL", "'{{}}'", "'null'"],
    "boolean": ["NULL", "true"],
    "timestamp with time zone": ["NULL", "now()", "'infinity'"],
}

# Arrays of other lengths, dimensions and bounds than the functions are called with.
SHAPES: Final = [
    "NULL::{type}[]",
    "ARRAY[]::{type}[]",
    "ARRAY[{value}]::{type}[]",
    "ARRAY[{value}, NULL]::{type}[]",
    "ARRAY[[{value}], [{value}]]::{type}[]",
    "array_fill({value}::{type}, ARRAY[2], ARRAY[-1])",
    "array_fill({value}::{type}, ARRAY[50])",
]

ROUNDS: Final = 15


def argument(chance: random.Random, kind: str, attempt: str) -> str:
    """An expression of this type."""
    element = kind.removesuffix("[]")
    value = chance.choice(VALUES[element]).format(attempt=attempt)
    shape = chance.choice(SHAPES) if kind != element else "{value}::{type}"
    return shape.format(value=value, type=element)


async def call(session: Session, name: str, arguments: Sequence[str]) -> None:
    """One call; that the function has no use for what it was given is an answer as well."""
    with suppress(asyncpg.DataError):
        await session.rows(f"SELECT * FROM ingress_api.{name}({', '.join(arguments)})")


def everything(database: ScratchDatabase) -> dict[str, str]:
    """What every table holds, but for the one report that needs no proof."""
    tables = database.rows(
        "SELECT relname FROM pg_class WHERE relnamespace = 'tenure'::regnamespace AND relkind = 'r'"
    )
    return {
        table: database.value(f"SELECT md5(string_agg(t::text, '|' ORDER BY t::text)) FROM tenure.{table} t")
        for (table,) in tables
        if table != "security_audit_events"
    }


async def test_without_a_proof_nothing_changes(database: ScratchDatabase, seed: Seed) -> None:
    seed.credential("w1")
    attempt = str(seed.runs("report", 3)[0].attempt)
    before, chance = everything(database), random.Random(1)
    functions = database.rows(FUNCTIONS)
    assert len(functions) > 10
    async with database.session("tenure_ingress") as session:
        for name, kinds in functions:
            for _ in range(ROUNDS):
                await call(session, name, [argument(chance, kind, attempt) for kind in kinds])
    assert everything(database) == before
    audited = database.rows("SELECT DISTINCT actor, action FROM tenure.security_audit_events")
    assert {tuple(row) for row in audited} <= {("ingress", "authentication.refusals")}
