"""Whether the database is exactly the one that this code works on, and which errors mean that it is gone."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping
from typing import Final

import structlog
import trio

from tenure_contracts.privilege import Role
from tenure_control.migration import HistoryError, applied_migrations, load_migrations, pending
from tenure_postgres.database import Database
from tenure_postgres.error import Busy, DatabaseError, Misconfigured, OutcomeUnknown, Unavailable
from tenure_postgres.readiness import Finding, check_readiness

SHORTEST_PAUSE_S: Final = 0.1
LONGEST_PAUSE_S: Final = 2.0

_log = structlog.get_logger(__name__)


class Unusable(Exception):  # noqa: N818 - a state of the database, told once
    """The database cannot be started on. `temporary`: it does not answer; else it answers and is wrong."""

    def __init__(self, findings: Iterable[Finding], *, temporary: bool) -> None:
        super().__init__("; ".join(dict.fromkeys(finding.sentence for finding in findings)))
        self.temporary = temporary


async def wait_usable(
    databases: Mapping[Role, Database], deadline: float, on_finding: Callable[[str], None], *, patient: bool
) -> None:
    """Return once every database is exactly as it must be.

    Raises Unusable when it is wrong, or does not answer until `deadline` (trio time). A `patient` caller
    waits for both for ever: once a process was ready, nothing about the database ends it.
    """
    pause_s = SHORTEST_PAUSE_S
    while findings := await find_faults(databases):
        temporary = all(finding.kind == "unavailable" for finding in findings)
        unusable = Unusable(findings, temporary=temporary)
        if not patient and (not temporary or trio.current_time() + pause_s > deadline):
            raise unusable
        _log.warning("database_not_usable", reason=str(unusable))
        on_finding(str(unusable))
        await trio.sleep(pause_s * random.uniform(0.5, 1.0))  # noqa: S311 - jitter, not a secret
        pause_s = min(pause_s * 2, LONGEST_PAUSE_S)


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
