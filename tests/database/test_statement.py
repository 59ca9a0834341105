"""Every statement of the ingress, prepared as its role: parameters, columns and row types agree."""

from __future__ import annotations

from datetime import datetime
from types import NoneType, UnionType
from typing import Any, Literal, get_args, get_origin, get_type_hints
from uuid import UUID

import pytest

from tenure_ingress.repository import row
from tenure_ingress.repository.call import QUERIES
from tests.harness import ScratchDatabase

ROWS: dict[str, type[Any]] = {
    "register": row.RegisterRow,
    "heartbeat": row.HeartbeatRow,
    "drain": row.SessionRow,
    "offline": row.SessionRow,
    "claim_offers": row.OfferRow,
    "decline": row.DeclineRow,
    "starting": row.ActivationRow,
    "running": row.ActivationRow,
    "start_failure": row.ActivationRow,
    "complete": row.CompletionRow,
    "renew": row.RenewalRow,
    "attest": row.AttestationRow,
    "held_leases": row.HeldLeaseRow,
    "authenticate": row.Judged,
    "record_refusals": row.RecordedRow,
    "dispatchable": row.DispatchableRow,
    "answers": row.AnswersRow,
}

PYTHON = {
    "text": str,
    "jsonb": str,
    "uuid": UUID,
    "int4": int,
    "int4[]": list,
    "bool": bool,
    "bytea": bytes,
    "timestamptz": datetime,
}


def plain(annotation: Any) -> type[Any]:
    """The one class of an annotation: `str` of `Literal["a"] | None`."""
    if get_origin(annotation) is Literal:
        (found,) = {type(value) for value in get_args(annotation)}
        return found
    if get_origin(annotation) is list:
        return list
    if isinstance(annotation, UnionType) or get_args(annotation):
        (found,) = {plain(part) for part in get_args(annotation) if part is not NoneType}
        return found
    assert isinstance(annotation, type)
    return annotation


def test_every_statement_has_a_row_type() -> None:
    assert set(ROWS) == set(QUERIES)


@pytest.mark.parametrize("name", ROWS)
async def test_a_statement_answers_its_row_type(database: ScratchDatabase, name: str) -> None:
    async with database.session("tenure_ingress") as session:
        parameters, columns = await session.types(QUERIES[name])
    declared = {column: plain(annotation) for column, annotation in get_type_hints(ROWS[name]).items()}
    assert {column: PYTHON[kind] for column, kind in columns.items()} == declared
    assert [parameter.removeprefix("_").replace("[]", "") for parameter in parameters] == arguments(
        database, name
    )


def arguments(database: ScratchDatabase, name: str) -> list[str]:
    """The argument types of the function that a statement calls, elements of arrays in their place."""
    found: list[str] | None = database.value(
        "SELECT array_agg(ltrim(t.typname, '_') ORDER BY position) FROM pg_proc p,"
        " unnest(p.proargtypes::oid[]) WITH ORDINALITY AS a (type, position) JOIN pg_type t ON t.oid = a.type"
        " WHERE p.proname = $1 AND pronamespace = 'ingress_api'::regnamespace",
        f"{name}_v1",
    )
    return found or []


async def test_the_look_needs_no_right(database: ScratchDatabase) -> None:
    async with database.session("tenure_ingress") as session:
        assert await session.value(QUERIES["answers"]) is False  # not read-only
