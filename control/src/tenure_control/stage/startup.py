"""Recovery before a replica does anything else.

The gate is that no started candidate is without its recovery row. Candidates that wait for evidence, or for a
person, do not keep a replica from starting: a partition of workers must not block a rolling restart.
"""

from __future__ import annotations

from typing import Final

import structlog

from tenure_control.repository.recovery import candidate as candidates
from tenure_control.stage import recovery as stage
from tenure_control.stage.outcome import CandidateFault, StageError
from tenure_control.stage.recovery import Recovery

PASSES: Final = 8
PASSES_MAX: Final = 64

_log = structlog.get_logger(__name__)


async def recover(recovery: Recovery, passes: int = PASSES) -> bool:
    """Give every candidate its row, then run up to `passes` (at most 64) passes of the stage.

    Returns whether everything decidable was decided; the cadence goes on with the rest. Raises errors of the
    database; the faults of single candidates are left to the cadence, which reports them.
    """
    missing = await recovery.database.transact(candidates.insert_missing)
    _log.info("startup_recovery", rows_made=missing)
    for _ in range(min(passes, PASSES_MAX)):
        if not await _pass(recovery):
            return True
    _log.warning("startup_recovery_truncated", passes=passes)
    return False


async def _pass(recovery: Recovery) -> bool:
    """Run the stage once; whether another pass would have something to do."""
    try:
        summary = await stage.run(recovery)
    except StageError as error:
        if not isinstance(error.__cause__, CandidateFault):
            raise
        _log.warning("startup_recovery_fault", fault=str(error))
        summary = error.summary
    return summary.truncated and summary.progress > 0
