"""What the process counts, in series whose number depends on the code alone."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from tenure_control.cycle import CycleSummary
from tenure_control.stage.outcome import StageSummary
from tenure_http import Head, LogObserver

SECONDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


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


class Metrics(LogObserver):
    """The series of one process, and the observer of its HTTP server."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.cycles = CycleMetrics(self.registry)
        self._incarnations = Counter(
            "tenure_control_incarnations",
            "How often the process began its work, the first time included.",
            registry=self.registry,
        )
        self._connections = Gauge("tenure_control_connections", "Open connections.", registry=self.registry)
        self._turned_away = Counter(
            "tenure_control_connections_turned_away", "Connections over the bound.", registry=self.registry
        )
        self._requests = Histogram(
            "tenure_control_request_seconds",
            "Time from header to answer.",
            ("route", "status"),
            buckets=SECONDS,
            registry=self.registry,
        )
        self._refusals = Counter(
            "tenure_control_refusals", "Refused requests.", ("route", "code"), registry=self.registry
        )
        self._failures = Counter(
            "tenure_control_failures", "Requests that met a bug.", ("route",), registry=self.registry
        )

    def render(self) -> bytes:
        """The text exposition format."""
        return generate_latest(self.registry)

    def incarnation_began(self) -> None:
        """Count a bootstrap."""
        self._incarnations.inc()

    def connection_opened(self) -> None:
        """Count a connection in."""
        self._connections.inc()

    def connection_closed(self) -> None:
        """Count it out."""
        self._connections.dec()

    def connection_turned_away(self) -> None:
        """Count one over the bound."""
        self._turned_away.inc()

    def request_answered(self, head: Head | None, route: str, status: int, duration_s: float) -> None:
        """Count an answer with its time."""
        self._requests.labels(route, str(status)).observe(duration_s)

    def request_refused(self, code: str, route: str) -> None:
        """Count a refusal by its code."""
        self._refusals.labels(route, code).inc()

    def request_failed(self, head: Head, route: str, error: Exception) -> None:
        """Count a bug, and log it."""
        self._failures.labels(route).inc()
        super().request_failed(head, route, error)
