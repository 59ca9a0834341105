"""What the process counts, in series whose number does not depend on what workers send."""

from __future__ import annotations

from typing import Any, Final

import structlog
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from tenure_http import Head, LogObserver
from tenure_postgres.lane import Lane

log = structlog.get_logger("tenure.ingress")

SECONDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class Metrics(LogObserver):
    """The series of one process, and the observer that feeds them. `access`: a line per request, at debug."""

    def __init__(self, *, access: bool = False) -> None:
        self.registry = CollectorRegistry()
        self._access = access
        self._connections = Gauge("tenure_ingress_connections", "Open connections.", registry=self.registry)
        self._turned_away = Counter(
            "tenure_ingress_connections_turned_away", "Connections over the bound.", registry=self.registry
        )
        self._requests = Histogram(
            "tenure_ingress_request_seconds",
            "Time from header to answer.",
            ("route", "status"),
            buckets=SECONDS,
            registry=self.registry,
        )
        self._refusals = Counter(
            "tenure_ingress_refusals", "Refused requests.", ("route", "code"), registry=self.registry
        )
        self._failures = Counter(
            "tenure_ingress_failures", "Requests that met a bug.", ("route",), registry=self.registry
        )

    def observe_lane(self, lane: Lane[Any, Any]) -> None:
        """Count a lane's calls and items, and what waits in it."""
        self.registry.register(_LaneCollector(lane))

    def render(self) -> bytes:
        """The text exposition format."""
        return generate_latest(self.registry)

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
        if self._access:
            log.debug(
                "request",
                request_id=head.id if head else None,
                route=route,
                status=status,
                ms=round(duration_s * 1000, 3),
            )

    def request_refused(self, code: str, route: str) -> None:
        """Count a refusal by its code."""
        self._refusals.labels(route, code).inc()

    def request_failed(self, head: Head, route: str, error: Exception) -> None:
        """Count a bug, and log it."""
        self._failures.labels(route).inc()
        super().request_failed(head, route, error)


class _LaneCollector(Collector):
    """Reads a lane when somebody asks, so that the lane itself counts with plain integers."""

    def __init__(self, lane: Lane[Any, Any]) -> None:
        self._lane = lane

    def collect(self) -> list[Metric]:
        labels = ["lane"]
        calls = CounterMetricFamily("tenure_ingress_lane_calls", "Database calls.", labels=labels)
        calls.add_metric([self._lane.name], self._lane.calls)
        items = CounterMetricFamily("tenure_ingress_lane_items", "Items in these calls.", labels=labels)
        items.add_metric([self._lane.name], self._lane.served)
        waiting = GaugeMetricFamily("tenure_ingress_lane_waiting", "Items that wait now.", labels=labels)
        waiting.add_metric([self._lane.name], self._lane.waiting)
        return [calls, items, waiting]
