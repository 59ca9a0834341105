"""What a process says about itself: alive, ready and why not, and its metrics."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final, Literal

from tenure_contracts.error import Refusal
from tenure_http.message import Head, Request, Response
from tenure_http.route import Admit, Match, Route

Status = Literal["ready", "starting", "draining", "degraded", "unavailable"]

PROMETHEUS_TEXT: Final = "text/plain; version=0.0.4; charset=utf-8"

# What a request meets that comes while the process is not ready; a degraded process serves.
_CODES: Final[Mapping[Status, str]] = MappingProxyType(
    {"starting": "starting", "draining": "draining", "unavailable": "database_unavailable"}
)


class Readiness:
    """Whether a process serves, and why not. Its owner says it with `become`; probes and gates read it."""

    def __init__(self) -> None:
        self.status: Status = "starting"
        self.reasons: tuple[str, ...] = ()

    def become(self, status: Status, *reasons: str) -> None:
        """From now on `status`, for `reasons`: short sentences or words without secrets."""
        self.status = status
        self.reasons = reasons

    @property
    def serves(self) -> bool:
        """Whether requests are let in."""
        return self.status not in _CODES

    def check(self) -> None:
        """Refuses while the process does not serve.

        Raises:
            Refusal: `starting`, `draining` or `database_unavailable`.
        """
        code = _CODES.get(self.status)
        if code is not None:
            raise Refusal(code, " ".join(self.reasons))


def probe_routes(readiness: Readiness, metrics: Callable[[], bytes]) -> tuple[Route, ...]:
    """`/livez`, `/readyz` and `/metrics`, answered whatever else the process does.

    Liveness is the event loop and nothing else: a process that answers is alive, and a restart because the
    database is slow would only add to the trouble. `metrics` renders the text exposition format.
    """

    async def livez(request: Request) -> Response:
        return _report(200, "live", ())

    async def readyz(request: Request) -> Response:
        return _report(200 if readiness.serves else 503, readiness.status, readiness.reasons)

    async def show_metrics(request: Request) -> Response:
        return Response(200, metrics(), PROMETHEUS_TEXT)

    return (
        Route("livez", "GET", "/livez", livez, counted=False),
        Route("readyz", "GET", "/readyz", readyz, counted=False),
        Route("metrics", "GET", "/metrics", show_metrics, counted=False),
    )


def gated(readiness: Readiness, probes: Admit, rest: Admit) -> Admit:
    """Probes always, everything else only while the process serves: for a listener that carries both.

    While it does not serve, what is no probe is refused before its route is even looked up.
    """

    def admit(head: Head) -> Match:
        try:
            return probes(head)
        except Refusal as refusal:
            if refusal.code != "unknown_route":
                raise
        readiness.check()
        return rest(head)

    return admit


def _report(status: int, word: str, reasons: tuple[str, ...]) -> Response:
    return Response(status, json.dumps({"status": word, "reasons": list(reasons)}).encode("ascii"))
