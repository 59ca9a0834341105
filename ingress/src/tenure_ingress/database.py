"""Whether the database can be worked with: exactly at the start, and from then on with hysteresis."""

from __future__ import annotations

import random
from typing import Final

import structlog
import trio

from tenure_http.probe import Readiness
from tenure_ingress.repository import call
from tenure_postgres.database import Database
from tenure_postgres.error import Busy, DatabaseError
from tenure_postgres.readiness import Finding, check_readiness

log = structlog.get_logger("tenure.ingress")

ROLE: Final = "tenure_ingress"
LOOK_S: Final = 1.0
ANSWER_S: Final = 2.0
STEPS: Final = 2
"""So many looks in a row must agree: one slow answer is no outage, and one good answer is not its end."""


class Unusable(Exception):  # noqa: N818 - a state of the database, told once
    """The database cannot be started on. `temporary`: it did not answer; else it answered and is wrong."""

    def __init__(self, findings: tuple[Finding, ...], *, temporary: bool) -> None:
        super().__init__("; ".join(finding.sentence for finding in findings))
        self.temporary = temporary


async def wait_usable(database: Database, budget_s: float) -> None:
    """Return when the database is exactly as it must be.

    One that answers and is wrong raises Unusable at once; one that does not answer is tried for `budget_s`.
    """
    deadline = trio.current_time() + budget_s
    pause_s = 0.2
    while findings := await check_readiness(database, ROLE):
        if any(finding.kind == "configuration" for finding in findings):
            raise Unusable(findings, temporary=False)
        if trio.current_time() + pause_s > deadline:
            raise Unusable(findings, temporary=True)
        log.warning("database_unavailable", findings=[finding.sentence for finding in findings])
        await trio.sleep(pause_s * random.uniform(0.5, 1.0))  # noqa: S311 - jitter, not a secret
        pause_s = min(pause_s * 2, 5.0)


async def watch(database: Database, readiness: Readiness) -> None:
    """Keep `readiness` true until cancelled: unavailable while the database is, ready afterwards.

    Once it was gone, it must be exactly right again: what comes back may be another server.
    """
    agreeing = 0
    while True:
        await trio.sleep(LOOK_S * random.uniform(0.9, 1.1))  # noqa: S311 - jitter, not a secret
        trouble = await _trouble(database, exactly=not readiness.serves)
        agreeing = agreeing + 1 if (not trouble) != readiness.serves else 0
        if agreeing < STEPS:
            continue
        agreeing = 0
        if trouble:
            readiness.become("unavailable", trouble)
        else:
            readiness.become("ready")
        log.info("readiness", status=readiness.status, reasons=list(readiness.reasons))


async def _trouble(database: Database, *, exactly: bool) -> str:
    """What is wrong with the database now; empty when nothing is."""
    if exactly:
        return "; ".join(finding.sentence for finding in await check_readiness(database, ROLE))
    try:
        await database.fetch(call.answers(), deadline_s=ANSWER_S)
    except Busy:
        return ""  # every connection is at work: it answers, to others
    except DatabaseError as error:
        return str(error)
    return ""
