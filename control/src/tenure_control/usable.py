"""Whether the database is exactly the one that this code works on, and which errors mean that it is gone."""

from __future__ import annotations

from collections.abc import Mapping

from tenure_contracts.privilege import Role
from tenure_control.migration import HistoryError, applied_migrations, load_migrations, pending
from tenure_postgres.database import Database
from tenure_postgres.error import Busy, DatabaseError, Misconfigured, OutcomeUnknown, Unavailable
from tenure_postgres.readiness import Finding, check_readiness


def means_loss(error: BaseException | None) -> bool:
    """Whether an error, or what caused it, says that the database is gone or is another one now."""
    while error is not None:
        if isinstance(error, Unavailable | OutcomeUnknown | Misconfigured):
            return True
        error = error.__cause__
    return False


def may_pass(error: BaseException | None) -> bool:
    """Whether beginning anew may help: the database is gone, or has too much to do."""
    while error is not None:
        if isinstance(error, Unavailable | OutcomeUnknown | Busy):
            return True
        error = error.__cause__
    return False


async def find_faults(databases: Mapping[Role, Database]) -> tuple[Finding, ...]:
    """Everything that keeps control from starting on these databases; nothing found means ready.

    The age of the schema comes alone, because it explains everything else.
    """
    found = [
        finding for role, database in databases.items() for finding in await check_readiness(database, role)
    ]
    if any(finding.kind == "unavailable" for finding in found):
        return tuple(found)
    return await _history(databases["tenure_control"]) or tuple(found)


async def _history(database: Database) -> tuple[Finding, ...]:
    try:
        missing = pending(await applied_migrations(database), load_migrations())
    except HistoryError as error:
        return (Finding("configuration", str(error)),)
    except DatabaseError:
        return ()  # what keeps us from reading it is among the other findings
    if not missing:
        return ()
    sentence = (
        f"the schema is older than this code ({missing[0].name} is missing): run `tenure control migrate`"
    )
    return (Finding("configuration", sentence),)
