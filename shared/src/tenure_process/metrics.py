"""What every process counts of its HTTP server, in series whose number does not depend on what it is sent."""

from __future__ import annotations

import logging
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from tenure_http import Bound, Head, LogObserver

SECONDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Buckets of every histogram of times."""


_HANDSHAKES: Final = {
    "PEER_DID_NOT_RETURN_A_CERTIFICATE": "no_certificate",
    "CERTIFICATE_VERIFY_FAILED": "certificate_refused",
}

_log = logging.getLogger(__name__)


class HttpMetrics(LogObserver):
    """The series of one process, and the observer that feeds those of HTTP; names begin with `prefix`."""

    def __init__(self, prefix: str) -> None:
        self.registry = registry = CollectorRegistry()
        self._connections = Gauge(f"{prefix}_connections", "Open connections.", registry=registry)
        self._turned_away = Counter(
            f"{prefix}_connections_turned_away",
            "Connections over a bound: of all connections, or of those of one peer.",
            ("bound",),
            registry=registry,
        )
        self._handshakes_failed = Counter(
            f"{prefix}_handshakes_failed",
            "TLS handshakes that failed: for want of a client's certificate, for a wrong one, or otherwise.",
            ("reason",),
            registry=registry,
        )
        self._requests = Histogram(
            f"{prefix}_request_seconds",
            "Time from header to answer.",
            ("route", "status"),
            buckets=SECONDS,
            registry=registry,
        )
        self._series: dict[tuple[str, int], Histogram] = {}  # finding one by its labels takes a lock
        self._refusals = Counter(
            f"{prefix}_refusals", "Refused requests.", ("route", "code"), registry=registry
        )
        self._failures = Counter(
            f"{prefix}_failures", "Requests that met a bug.", ("route",), registry=registry
        )

    def render(self) -> bytes:
        """The text exposition format."""
        return generate_latest(self.registry)

    def connection_opened(self) -> None:
        """Count a connection in."""
        self._connections.inc()

    def connection_closed(self) -> None:
        """Count it out."""
        self._connections.dec()

    def connection_turned_away(self, bound: Bound) -> None:
        """Count one over a bound."""
        self._turned_away.labels(bound).inc()

    def handshake_failed(self, reason: str) -> None:
        """Count it by what an operator can act on, and say it to who listens closely."""
        _log.debug("a TLS handshake failed: %s", reason)
        self._handshakes_failed.labels(_HANDSHAKES.get(reason, "other")).inc()

    def request_answered(self, head: Head | None, route: str, status: int, duration_s: float) -> None:
        """Count an answer with its time."""
        series = self._series.get((route, status))
        if series is None:
            series = self._series[route, status] = self._requests.labels(route, str(status))
        series.observe(duration_s)

    def request_refused(self, code: str, route: str) -> None:
        """Count a refusal by its code."""
        self._refusals.labels(route, code).inc()

    def request_failed(self, head: Head, route: str, error: Exception) -> None:
        """Count a bug, and log it."""
        self._failures.labels(route).inc()
        super().request_failed(head, route, error)
