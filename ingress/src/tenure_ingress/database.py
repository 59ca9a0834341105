"""Whether the database can be worked with: exactly at the start, and from then on with hysteresis."""

from __future__ import annotations

import itertools
import random
from typing import Final

import structlog
import trio

from tenure_http.probe import Readiness
from tenure_ingress.repository import call
from tenure_postgres.database import Database
from tenure_postgres.error import Busy, DatabaseError
from tenure_postgres.readiness import READ_ONLY, Finding, check_readiness

log = structlog.get_logger("tenure.ingress")

ROLE: Final = "tenure_ingress"
LOOK_S: Final = 1.0
ANSWER_S: Final = 2.0
STEPS: Final = 2
"""So many looks in a row must agree: one slow answer is no outage, and one good answer is not its end."""

EXACTLY_EVERY: Final = 10
"""Which look of a process that serves compares everything."""


async def find_faults(database: Database) -> tuple[Finding, ...]:
    """Everything that keeps the ingress from serving on this database; nothing found means ready."""
    return await check_readiness(database, ROLE)


async def watch(database: Database, readiness: Readiness) -> None:
    """Keep `readiness` true until cancelled: unavailable while the database is, ready afterwards.

    Once it was gone, it must be exactly right again: what comes back may be another server. While it answers
    it is compared now and then, because rights and settings can be taken away from a process that serves.
    """
    agreeing = 0
    for look in itertools.count(1):
        await trio.sleep(LOOK_S * random.uniform(0.9, 1.1))  # noqa: S311 - jitter, not a secret
        exactly = not readiness.serves or agreeing > 0 or look % EXACTLY_EVERY == 0
        trouble = await _trouble(database, exactly=exactly, serving=readiness.serves)
        agreeing = agreeing + 1 if (not trouble) != readiness.serves else 0
        if agreeing < STEPS:
            continue
        agreeing = 0
        if trouble:
            readiness.become("unavailable", trouble)
        else:
            readiness.become("ready")
        log.info("readiness", status=readiness.status, reasons=list(readiness.reasons))


async def _trouble(database: Database, *, exactly: bool, serving: bool) -> str:
    """What is wrong with the database now; empty when nothing is."""
    if serving and (trouble := await _silence(database)):
        return trouble
    found = await find_faults(database) if exactly else ()
    # A process that serves has asked already whether there is an answer, and a busy one fails nobody.
    return "; ".join(each.sentence for each in found if not serving or each.kind == "configuration")


async def _silence(database: Database) -> str:
    """Why the database would not do what we ask for; empty when it would."""
    try:
        (row,) = await database.fetch(call.answers(), deadline_s=ANSWER_S)
    except Busy:
        return ""  # every connection is at work: it answers, to others
    except DatabaseError as error:
        return str(error)
    return READ_ONLY if row["read_only"] else ""
