"""The privilege contract against what a role really has: a pure comparison of two sets.

Both directions are findings. A missing privilege would fail some request at three in the morning; an extra
one is a right that nobody decided to give.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from tenure_contracts.privilege import FUNCTIONS, GRANTS, Role


class Held(NamedTuple):
    """One privilege on one object; for a table narrowed to a column, or None for the whole of it."""

    kind: str
    object: str
    privilege: str
    column: str | None = None


def expected(role: Role, database: str) -> frozenset[Held]:
    """What the contract gives a role. The use of a schema follows from the use of anything in it."""
    tables = GRANTS.get(role, {})
    functions = FUNCTIONS.get(role, frozenset())
    schemas = {name.partition(".")[0] for name in (*tables, *functions)}
    return frozenset(
        {
            Held("database", database, "CONNECT"),
            *(Held("schema", name, "USAGE") for name in schemas),
            *(Held("function", name, "EXECUTE") for name in functions),
            *(
                Held("table", name, grant.privilege, column)
                for name, grants in tables.items()
                for grant in grants
                for column in (grant.columns or (None,))
            ),
        }
    )


def tolerated(held: Held) -> bool:
    """Whether an extra privilege is no finding.

    A newer schema brings newer versions of the ingress functions before the processes that call them. And
    PostgreSQL lets everybody use the schema `public`, in which nobody may create.
    """
    newer_function = held.kind == "function" and held.object.startswith("ingress_api.")
    return newer_function or held == Held("schema", "public", "USAGE")


def deviations(role: Role, database: str, held: Iterable[Held]) -> Iterator[str]:
    """One sentence for each object and privilege that deviates, saying what to do."""
    wanted, found = expected(role, database), frozenset(held)
    whole = {each for each in found if each.column is None}
    missing = {each for each in wanted - found if each._replace(column=None) not in whole}
    extra = {each for each in found - wanted if not tolerated(each)}
    for what in _grouped(missing):
        yield f"{role} lacks {what}: run `tenure control migrate`, which grants it"
    for what in _grouped(extra):
        yield f"{role} has {what}, which the privilege contract does not give it: revoke it"


def _grouped(privileges: Iterable[Held]) -> list[str]:
    columns: dict[Held, list[str]] = defaultdict(list)
    for each in privileges:
        columns[each._replace(column=None)].extend([each.column] if each.column else [])
    return sorted(_said(each, sorted(names)) for each, names in columns.items())


def _said(held: Held, columns: list[str]) -> str:
    narrowed = f" ({', '.join(columns)})" if columns else ""
    return f"{held.privilege}{narrowed} on {held.kind} {held.object}"
