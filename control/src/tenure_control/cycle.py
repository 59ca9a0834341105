"""One cycle: stages in a fixed order, each only after the one before did not fail.

A stage that raises skips the later ones: no admission while authority is in doubt, and no success is claimed
for what did not run. What was committed stays; the next cycle goes on from there.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from tenure_control.stage.outcome import StageError, StageSummary

Stage = Callable[[], Awaitable[StageSummary]]

SUMMARIES_KEPT: Final = 100


@dataclass(frozen=True, slots=True)
class CycleSummary:
    """What one cycle did. `skipped` names the stages that a failure kept from running.

    `saturated`: a stage made progress and there was more, so the next cycle follows at once. More that is
    locked by others is no reason to hurry.
    """

    number: int
    incarnation: str
    started_at: datetime
    milliseconds: float
    stages: tuple[StageSummary, ...]
    skipped: tuple[str, ...] = ()
    failed_stage: str | None = None
    failure: str | None = None

    @property
    def saturated(self) -> bool:
        """Whether the bounds ended the cycle, not the work."""
        return any(stage.truncated and stage.progress for stage in self.stages)

    @property
    def changes(self) -> int:
        """How many candidates were changed, in all stages."""
        return sum(stage.changes for stage in self.stages)

    def plain(self) -> dict[str, Any]:
        """As values that JSON can carry."""
        return {
            "number": self.number,
            "incarnation": self.incarnation,
            "started_at": self.started_at.isoformat(),
            "milliseconds": self.milliseconds,
            "stages": [stage.plain() for stage in self.stages],
            "skipped": list(self.skipped),
            "failed_stage": self.failed_stage,
            "failure": self.failure,
            "saturated": self.saturated,
        }


class Cycle:
    """The coordinator. It owns no timer, connection or cursor: only the order, and the last summaries."""

    def __init__(
        self,
        incarnation: str,
        stages: Sequence[tuple[str, Stage]],
        *,
        record: Callable[[CycleSummary], None] = lambda _: None,
    ) -> None:
        self._incarnation = incarnation
        self._stages = tuple(stages)
        self._record = record
        self._number = 0
        self.summaries: deque[CycleSummary] = deque(maxlen=SUMMARIES_KEPT)

    async def run(self) -> CycleSummary:
        """Run every stage once. Raises what a stage raised; its summary is recorded first."""
        self._number += 1
        began, started_at = time.perf_counter(), datetime.now(UTC)
        done: list[StageSummary] = []
        failure: Exception | None = None
        for name, stage in self._stages:
            try:
                done.append(await stage())
            except Exception as error:  # noqa: BLE001 - raised below, after it was recorded
                failure = error
                done.append(error.summary if isinstance(error, StageError) else StageSummary(name))
                break
        names = [name for name, _ in self._stages]
        summary = CycleSummary(
            number=self._number,
            incarnation=self._incarnation,
            started_at=started_at,
            milliseconds=round((time.perf_counter() - began) * 1000, 3),
            stages=tuple(done),
            skipped=tuple(names[len(done) :]),
            failed_stage=names[len(done) - 1] if failure else None,
            failure=str(failure) if failure else None,
        )
        self.summaries.appendleft(summary)
        self._record(summary)
        if failure is not None:
            raise failure
        return summary
