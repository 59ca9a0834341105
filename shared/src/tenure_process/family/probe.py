"""What a parent says for its processes: alive, ready and why not, their metrics, and how a reload went.

Everything is asked of the processes when it is wanted; the parent keeps no second truth.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, Final

import structlog
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from tenure_http import Request, Response, Route
from tenure_http.probe import PROMETHEUS_TEXT
from tenure_process.family.ask import Answer
from tenure_process.family.child import Child
from tenure_process.family.exposition import LABEL, together
from tenure_process.family.family import Family
from tenure_process.reload import refused

log = structlog.get_logger("tenure.process")

RELOAD_S: Final = 15.0
"""Files may lie on a network that is slow."""


def family_routes(family: Family, prefix: str) -> tuple[Route, ...]:
    """`/livez`, `/readyz`, `/metrics` and `POST /reload` for all processes of a parent."""
    registry = CollectorRegistry()
    registry.register(_Processes(family, prefix))

    async def livez(request: Request) -> Response:
        return _report("live", await _stuck(family), "stuck")

    async def readyz(request: Request) -> Response:
        if family.stop_wanted.is_set():
            return _report("ready", ["asked to stop"], "draining")
        answers = await family.look_at_all("/readyz")
        reasons = [sentence for child, answer in answers.items() for sentence in _reasons(child, answer)]
        return _report("ready", reasons, _status(answers.values()))

    async def metrics(request: Request) -> Response:
        answers = await family.look_at_all("/metrics")
        pages = {child.index: answer.body for child, answer in answers.items() if answer}
        return Response(200, together(generate_latest(registry), pages), PROMETHEUS_TEXT)

    async def reload(request: Request) -> Response:
        return await reload_all(family)

    return (
        Route("livez", "GET", "/livez", livez, counted=False),
        Route("readyz", "GET", "/readyz", readyz, counted=False),
        Route("metrics", "GET", "/metrics", metrics, counted=False),
        Route("reload", "POST", "/reload", reload, media_type=None, counted=False),
    )


async def reload_all(family: Family) -> Response:
    """Have every process reload. Each keeps what it serves when it cannot; one that is not up reads it anew.

    200 with what each serves now, or a problem document that names the file for each that refused.
    """
    answers = await family.ask_all("/reload", method="POST", timeout_s=RELOAD_S)
    told = {child.index: _document(answer) for child, answer in answers.items() if answer}
    details = [f"process {index}: {each['detail']}" for index, each in told.items() if "detail" in each]
    silent = [child for child, answer in answers.items() if answer is None and child.running]
    details += [f"process {child.index} did not answer" for child in silent]
    if details:
        log.warning("reload_refused", refused=details)
        return refused("; ".join(details))
    log.info("reloaded")
    of_one = next(iter(told.values()), {"status": "reloaded"})
    return Response(200, json.dumps({**of_one, "processes": list(told.values())}).encode("ascii"))


class _Processes(Collector):
    """What the parent itself knows."""

    def __init__(self, family: Family, prefix: str) -> None:
        self._family = family
        self._prefix = prefix

    def collect(self) -> list[Metric]:
        up = GaugeMetricFamily(
            f"{self._prefix}_process_up", "Whether there is such a process.", labels=[LABEL]
        )
        restarts = CounterMetricFamily(
            f"{self._prefix}_process_restarts", "Starts after an end that nobody asked for.", labels=[LABEL]
        )
        for child in self._family.children:
            up.add_metric([str(child.index)], child.running)
            restarts.add_metric([str(child.index)], max(child.starts - 1, 0))
        return [up, restarts]


async def _stuck(family: Family) -> list[str]:
    """Processes that answered once and do not any more. One that ended is no reason to end the others."""
    answers = await family.look_at_all("/livez")
    return [
        f"process {child.index} does not answer"
        for child in family.children
        if child.running and child.heard and answers[child] is None
    ]


def _reasons(child: Child, answer: Answer | None) -> list[str]:
    if answer is None:
        return [f"process {child.index} {'does not answer' if child.running else 'ended, and starts again'}"]
    if answer.status == 200:
        return []
    told = _document(answer)
    return [f"process {child.index} is {told['status']}: {' '.join(told['reasons'])}".rstrip(": ")]


def _status(answers: Iterable[Answer | None]) -> str:
    """The word of the first process that is not ready."""
    waiting = next((each for each in answers if each is None or each.status != 200), None)
    return _document(waiting)["status"] if waiting else "starting"


def _document(answer: Answer) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(answer.body)
    return document


def _report(well: str, reasons: list[str], ill: str) -> Response:
    document = {"status": ill if reasons else well, "reasons": reasons}
    return Response(503 if reasons else 200, json.dumps(document).encode("ascii"))
