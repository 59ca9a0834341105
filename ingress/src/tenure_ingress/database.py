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


async def find_faults(database: Database) -> tuple[Finding, ...]:
    """Everything that keeps the ingress from serving on this database; nothing found means ready."""
    return await check_readiness(database, ROLE)


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
        return "; ".join(finding.sentence for finding in await find_faults(database))
    try:
        await database.fetch(call.answers(), deadline_s=ANSWER_S)
    except Busy:
        return ""  # every connection is at work: it answers, to others
    except DatabaseError as error:
        return str(error)
    return ""
