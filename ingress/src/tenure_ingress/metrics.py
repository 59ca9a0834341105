"""What the process counts, in series whose number does not depend on what workers send."""

from __future__ import annotations

from typing import Any

import structlog
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from tenure_http import Head
from tenure_ingress.waiting import Room
from tenure_postgres.lane import Lane
from tenure_process.metrics import HttpMetrics

log = structlog.get_logger("tenure.ingress")


class Metrics(HttpMetrics):
    """The series of one process, and the observer that feeds them. `access`: a line per request, at debug."""

    def __init__(self, *, access: bool = False) -> None:
        super().__init__("tenure_ingress")
        self._access = access

    def observe_lane(self, lane: Lane[Any, Any]) -> None:
        """Count a lane's calls and items, and what waits in it."""
        self.registry.register(_LaneCollector(lane))

    def observe_room(self, room: Room) -> None:
        """Count the pulls that wait, and what is done for them."""
        self.registry.register(_RoomCollector(room))

    def request_answered(self, head: Head | None, route: str, status: int, duration_s: float) -> None:
        """Count an answer with its time."""
        super().request_answered(head, route, status, duration_s)
        if self._access:
            log.debug(
                "request",
                request_id=head.id if head else None,
                route=route,
                status=status,
                ms=round(duration_s * 1000, 3),
            )


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


class _RoomCollector(Collector):
    """Reads the waiting room when somebody asks."""

    def __init__(self, room: Room) -> None:
        self._room = room

    def collect(self) -> list[Metric]:
        prefix = "tenure_ingress_waiting_pulls"
        return [
            GaugeMetricFamily(prefix, "Pulls that wait for work now.", value=len(self._room)),
            CounterMetricFamily(f"{prefix}_looks", "Questions for work on their behalf.", self._room.looks),
            CounterMetricFamily(f"{prefix}_calls", "Pulls that were called to claim.", self._room.calls),
            CounterMetricFamily(f"{prefix}_vain", "Calls after which there was nothing.", self._room.vain),
        ]
