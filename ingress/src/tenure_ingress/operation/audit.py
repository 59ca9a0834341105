"""Refusals in the audit: at most one row a minute and process, however many there are."""

from __future__ import annotations

import json
from typing import Final, NoReturn

import structlog
import trio

from tenure_ingress.refusal import Refusals
from tenure_ingress.repository import call
from tenure_postgres.database import Database
from tenure_postgres.error import DatabaseError, OutcomeUnknown

log = structlog.get_logger("tenure.ingress")

PERIOD_S: Final = 60.0
WRITE_S: Final = 2.0


async def audit(refusals: Refusals, database: Database) -> NoReturn:
    """Write once a minute what was counted, until cancelled. What came last is for `flush`."""
    while True:
        await trio.sleep(PERIOD_S)
        await flush(refusals, database)


async def flush(refusals: Refusals, database: Database) -> None:
    """Write what was counted, if anything was, within two seconds.

    While the database does not answer, the counts stay for the next time. When nobody knows whether a row
    was written they do not: a minute may be missing in the audit, and none is told twice. Cancelled, they
    are lost.
    """
    tally = refusals.take()
    if tally is None:
        return
    report = json.dumps(tally.report(trio.current_time()))
    try:
        (row,) = await database.call(call.record_refusals(refusals.process, report), deadline_s=WRITE_S)
    except OutcomeUnknown as error:
        log.warning("refusals_not_audited", reason=str(error), codes=dict(tally.codes))
    except DatabaseError as error:
        refusals.put_back(tally)
        log.warning("refusals_wait", reason=str(error))
    else:
        if not row["recorded"]:
            log.warning("refusals_not_audited", reason="too many reports", codes=dict(tally.codes))
