"""What an incarnation works on: both cadences with their stages, wired to one set of pools."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final

import structlog
import trio

from tenure_control.cadence import Cadence
from tenure_control.cycle import Cycle, CycleSummary, Stage
from tenure_control.incarnation import Incarnation
from tenure_control.metrics import CycleMetrics
from tenure_control.settings import Settings
from tenure_control.stage import admission, cancellation, frontier, recovery, retry, schedule
from tenure_control.stage.recovery import Recovery
from tenure_control.stage.schedule import Schedule
from tenure_control.stage.walk import Bounds
from tenure_control.usable import means_loss
from tenure_postgres.database import Database

log = structlog.get_logger("tenure.control")

SCHEDULER: Final = "scheduler"
CANCELLATION: Final = "cancellation"


@dataclass(slots=True)
class Loss:
    """Whether the database is lost. Anybody may find out; the first one is believed."""

    found: trio.Event = field(default_factory=trio.Event)

    def examine(self, error: Exception) -> None:
        """A cycle failed: is it the database?"""
        if means_loss(error):
            log.warning("database_lost", reason=str(error))
            self.found.set()


@dataclass(frozen=True, slots=True)
class Parts:
    """What the stages of one incarnation are made of. `dispatch`: work became dispatchable."""

    settings: Settings
    incarnation: Incarnation
    database: Database
    recovery: Recovery
    dispatch: Callable[[], None]
    metrics: CycleMetrics
    loss: Loss


@dataclass(frozen=True, slots=True)
class Work:
    """Both cadences, each a fault domain of its own, and the last cycles of the scheduler."""

    scheduler: Cadence[CycleSummary]
    cancellation: Cadence[CycleSummary]
    cycle: Cycle

    def wake(self) -> None:
        """Something changed that either may have to do with."""
        self.scheduler.wake()
        self.cancellation.wake()


def wire(parts: Parts) -> Work:
    """The cadences of one incarnation. The order of the stages is fixed: authority before admission."""
    settings, database, dispatch = parts.settings, parts.database, parts.dispatch
    scheduling = Schedule(database, parts.incarnation, dispatch, parts.metrics.late, settings.schedule_claims)
    cycle = _cycle(
        parts,
        SCHEDULER,
        (
            (recovery.NAME, partial(recovery.run, parts.recovery)),
            (retry.NAME, partial(retry.run, database, dispatch, Bounds(settings.retry_page))),
            (schedule.NAME, partial(schedule.run, scheduling)),
            (frontier.NAME, partial(frontier.run, database)),
            (admission.NAME, partial(admission.run, database, dispatch)),
        ),
    )
    converging = _cycle(parts, CANCELLATION, ((cancellation.NAME, partial(cancellation.run, database)),))
    return Work(
        _cadence(parts, SCHEDULER, cycle, settings.interval_s),
        _cadence(parts, CANCELLATION, converging, settings.cancellation_interval_s),
        cycle,
    )


def _cycle(parts: Parts, name: str, stages: Sequence[tuple[str, Stage]]) -> Cycle:
    return Cycle(parts.incarnation.id, stages, record=partial(_record, parts.metrics, name))


def _cadence(parts: Parts, name: str, cycle: Cycle, interval_s: float) -> Cadence[CycleSummary]:
    return Cadence(
        name,
        cycle.run,
        interval_s=interval_s,
        again=lambda summary: summary.saturated,
        on_failure=parts.loss.examine,
    )


def _record(metrics: CycleMetrics, cadence: str, summary: CycleSummary) -> None:
    metrics.record(cadence, summary)
    if summary.failed_stage is not None:
        log.error("cycle_failed", cadence=cadence, **summary.plain())
    elif summary.changes:
        log.info("cycle", cadence=cadence, **summary.plain())
    else:
        log.debug("cycle", cadence=cadence, **summary.plain())
