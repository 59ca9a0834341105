"""What one run of a stage did."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import Any, Final

RACED: Final = "raced"
"""The effect of a candidate that somebody else held or changed first: no error, looked at again later."""

HELD: Final = "held"
"""The effect of a candidate that is waited with, for a reason that is written down."""


@dataclass(frozen=True, slots=True)
class StageSummary:
    """Counts of one run of one stage. `changed` is by kind; `truncated`: there was more than the bounds."""

    stage: str
    pages: int = 0
    scanned: int = 0
    changed: Mapping[str, int] = field(default_factory=dict)
    raced: int = 0
    held: int = 0
    faulty: int = 0
    truncated: bool = False
    milliseconds: float = 0.0

    @property
    def changes(self) -> int:
        """How many candidates were changed."""
        return sum(self.changed.values())

    @property
    def progress(self) -> int:
        """How many candidates the next run of the stage will not meet again at once."""
        return self.changes + self.held

    def plain(self) -> dict[str, Any]:
        """As values that JSON can carry."""
        return {each.name: getattr(self, each.name) for each in fields(self)} | {
            "changed": dict(self.changed)
        }


@dataclass(slots=True)
class Tally:
    """The summary of a stage while it runs."""

    stage: str
    pages: int = 0
    scanned: int = 0
    truncated: bool = False
    faults: list[CandidateFault] = field(default_factory=list)
    _effects: Counter[str] = field(default_factory=Counter)
    _began: float = field(default_factory=time.perf_counter)

    def count(self, effect: str) -> None:
        """One candidate: RACED, HELD, or the kind of change."""
        self._effects[effect] += 1

    def summary(self) -> StageSummary:
        """What was counted until now."""
        changed = {kind: n for kind, n in sorted(self._effects.items()) if kind not in (RACED, HELD)}
        return StageSummary(
            stage=self.stage,
            pages=self.pages,
            scanned=self.scanned,
            changed=MappingProxyType(changed),
            raced=self._effects[RACED],
            held=self._effects[HELD],
            faulty=len(self.faults),
            truncated=self.truncated,
            milliseconds=round((time.perf_counter() - self._began) * 1000, 3),
        )


class CandidateFault(Exception):  # noqa: N818 - whose fault it is, is the name
    """A deterministic fault of one candidate: the rest of the stage goes on, then the stage fails."""

    def __init__(self, candidate: str, kind: str, detail: str) -> None:
        super().__init__(f"{candidate}: {kind}: {detail}")
        self.candidate = candidate
        self.kind = kind


class StageError(Exception):
    """A stage failed. `summary` counts what was committed all the same; `__cause__` says why."""

    def __init__(self, summary: StageSummary, reason: str) -> None:
        super().__init__(f"stage {summary.stage}: {reason}")
        self.summary = summary


class PageError(Exception):
    """A repository broke the rules of pages: what it says about the rest cannot be believed either."""
