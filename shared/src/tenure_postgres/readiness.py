"""Whether a database is one that a process may start on: the right server, role, settings and privileges,
exactly.

Both deployables ask this before they accept anything. Every deviation is named, in one sentence that says
what to do.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Literal, TypeAlias

from tenure_contracts.privilege import Role
from tenure_postgres import query
from tenure_postgres.contract import Held, deviations
from tenure_postgres.database import Connection, Database, Row
from tenure_postgres.error import Busy, DatabaseError, OutcomeUnknown, Unavailable

QUERIES = query.folder(__package__)

VERSIONS = range(15, 19)

READ_ONLY = "the server is read-only: give the address of the writable primary"

# By `ALTER ROLE … IN DATABASE … SET`: a pooler refuses or silently drops what a driver sends when it
# connects.
SETTINGS: Mapping[str, str] = {
    "statement_timeout": "5000",
    "lock_timeout": "1000",
    "idle_in_transaction_session_timeout": "10000",
    "plan_cache_mode": "force_generic_plan",
    "jit": "off",
}

# Migrations may take long.
SETTINGS_OF: Mapping[Role, Mapping[str, str]] = {"tenure_migrate": {"statement_timeout": "0"}}

MEMBERSHIPS: Mapping[Role, frozenset[str]] = {"tenure_migrate": frozenset({"tenure_owner"})}

Kind: TypeAlias = Literal["configuration", "unavailable"]


@dataclass(frozen=True)
class Finding:
    """One reason not to start. `unavailable` may pass by itself; `configuration` needs a person."""

    kind: Kind
    sentence: str


async def check_readiness(database: Database, role: Role) -> tuple[Finding, ...]:
    """Compare server, role, settings and privileges with what they must be; nothing found means ready.

    Never raises an error of the database: that is a finding too. A server that answers and is wrong, which a
    read-only one is, is `configuration`: only silence is `unavailable`.
    """
    try:
        facts, held = await database.fetch(partial(_read, role))
    except (Busy, Unavailable, OutcomeUnknown) as error:
        return (Finding("unavailable", f"{database.name}: {error}"),)
    except DatabaseError as error:
        return (Finding("configuration", f"{database.name}: {error}: {_advice(error)}"),)
    return tuple(_findings(role, facts, held))


# What to do about an answer that is a refusal, by the class of its SQLSTATE.
ADVICE: Mapping[str, str] = {
    "28": "run `tenure control roles`, and give the address with the role's password",
    "3D": "create the database, run `tenure control roles` in it and then `tenure control migrate`",
}


def _advice(error: DatabaseError) -> str:
    if error.sqlstate is None:  # the driver's own refusal: no server was asked
        return "give an address such as postgresql://ROLE@HOST/DATABASE"
    return ADVICE.get(error.sqlstate[:2], "run `tenure control roles` and `tenure control migrate`")


async def _read(role: Role, connection: Connection) -> tuple[Row, tuple[Held, ...]]:
    facts = await connection.fetchrow(QUERIES["server_facts"], sorted(_settings(role)))
    assert facts is not None, "current_user is always in pg_roles"
    rows = await connection.fetch(QUERIES["held_privileges"])
    return facts, tuple(Held(*row) for row in rows)


def _findings(role: Role, facts: Row, held: tuple[Held, ...]) -> Iterator[Finding]:
    if facts["read_only"]:
        yield Finding("configuration", READ_ONLY)
    for sentence in _wrong(role, facts, held):
        yield Finding("configuration", sentence)


def _wrong(role: Role, facts: Row, held: tuple[Held, ...]) -> Iterator[str]:
    if facts["major"] not in VERSIONS:
        yield f"PostgreSQL {facts['major']} is not supported: use {VERSIONS[0]} to {VERSIONS[-1]}"
    if facts["encoding"] != "UTF8":
        yield f"the database is encoded in {facts['encoding']}: create it with ENCODING 'UTF8'"
    if facts["role"] != role:
        yield f"connected as {facts['role']}: give the address of the role {role}"
    elif facts["privileged"]:
        yield f"{role} has administrator rights: ALTER ROLE {role} NOSUPERUSER NOCREATEROLE NOCREATEDB …"
    elif not facts["migrated"]:
        yield f"the database {facts['database']} has no schema of Tenure: run `tenure control migrate`"
    else:
        yield from _wrong_settings(role, json.loads(facts["settings"]))
        yield from _wrong_memberships(role, frozenset(facts["memberships"]))
        yield from deviations(role, facts["database"], held)


def _settings(role: Role) -> Mapping[str, str]:
    return {**SETTINGS, **SETTINGS_OF.get(role, {})}


def _wrong_settings(role: Role, found: Mapping[str, str]) -> Iterator[str]:
    for name, value in _settings(role).items():
        if found.get(name) != value:
            yield f"{name} is {found.get(name)} for {role} and must be {value}: run `tenure control roles`"


def _wrong_memberships(role: Role, found: frozenset[str]) -> Iterator[str]:
    allowed = MEMBERSHIPS.get(role, frozenset())
    for other in sorted(found - allowed):
        yield f"{role} is a member of {other}: REVOKE {other} FROM {role}"
    for other in sorted(allowed - found):
        yield f"{role} is not a member of {other}: run `tenure control roles`"
