"""What the process counts, in series whose number depends on the code alone."""

from __future__ import annotations

from datetime import timedelta

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from tenure_control.cycle import CycleSummary
from tenure_control.stage.outcome import StageSummary
from tenure_process.metrics import SECONDS, HttpMetrics


class CycleMetrics:
    """The series of the two cadences. Labels are cadences, stages and the kinds of their changes."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._cycles = Counter(
            "tenure_control_cycles", "Cycles by outcome.", ("cadence", "outcome"), registry=registry
        )
        self._cycle_seconds = Histogram(
            "tenure_control_cycle_seconds",
            "Time of a cycle.",
            ("cadence",),
            buckets=SECONDS,
            registry=registry,
        )
        self._stage_seconds = Histogram(
            "tenure_control_stage_seconds", "Time of a stage.", ("stage",), buckets=SECONDS, registry=registry
        )
        self._candidates = Counter(
            "tenure_control_candidates",
            "Candidates by what became of them.",
            ("stage", "effect"),
            registry=registry,
        )
        self._truncated = Counter(
            "tenure_control_stage_truncated", "Runs of a stage that left some.", ("stage",), registry=registry
        )
        self._lag = Gauge(
            "tenure_control_trigger_lag_seconds",
            "How late the trigger was that was due longest, when it was claimed.",
            registry=registry,
        )

    def late(self, lag: timedelta) -> None:
        """How late the oldest due cursor is; zero when none is due."""
        self._lag.set(lag.total_seconds())

    def record(self, cadence: str, summary: CycleSummary) -> None:
        """Count one cycle."""
        outcome = "failed" if summary.failed_stage else "saturated" if summary.saturated else "done"
        self._cycles.labels(cadence, outcome).inc()
        self._cycle_seconds.labels(cadence).observe(summary.milliseconds / 1000)
        for stage in summary.stages:
            self._record_stage(stage)

    def _record_stage(self, stage: StageSummary) -> None:
        self._stage_seconds.labels(stage.stage).observe(stage.milliseconds / 1000)
        effects = {**stage.changed, "raced": stage.raced, "held": stage.held, "faulty": stage.faulty}
        for effect, count in effects.items():
            self._candidates.labels(stage.stage, effect).inc(count)
        if stage.truncated:
            self._truncated.labels(stage.stage).inc()


class Metrics(HttpMetrics):
    """The series of one process, and the observer of its HTTP server."""

    def __init__(self) -> None:
        super().__init__("tenure_control")
        self.cycles = CycleMetrics(self.registry)
        self._incarnations = Counter(
            "tenure_control_incarnations",
            "How often the process began its work, the first time included.",
            registry=self.registry,
        )

    def incarnation_began(self) -> None:
        """Count a bootstrap."""
        self._incarnations.inc()
