"""Liveness, readiness and its reasons, and the gate in front of everything else."""

from __future__ import annotations

import pytest

from tenure_http import Router
from tenure_http.probe import Readiness, Status, gated, probe_routes
from tests.http.stage import echo_route, get, on_stage, post


def probes(readiness: Readiness) -> Router:
    return Router(probe_routes(readiness, lambda: b"tenure_up 1\n"))


async def test_a_process_is_alive_as_soon_as_it_listens() -> None:
    async with on_stage(admit=probes(Readiness())) as stage:
        client = stage.connect()
        assert (await client.ask(get("/livez"))).status == 200
        ready = await client.ask(get("/readyz"))
        assert (ready.status, ready.json) == (503, {"status": "starting", "reasons": []})
        assert (await client.ask(get("/readyz", method="HEAD"))).status == 503
        metrics = await client.ask(get("/metrics"))
        assert (metrics.body, metrics.headers["content-type"][:10]) == (b"tenure_up 1\n", "text/plain")
        assert (await client.ask(get("/other"))).code == "unknown_route"


@pytest.mark.parametrize(
    ("status", "answer", "code"),
    [
        ("starting", 503, "starting"),
        ("ready", 200, None),
        ("degraded", 200, None),
        ("draining", 503, "draining"),
        ("unavailable", 503, "database_unavailable"),
    ],
)
async def test_readiness_is_shown_and_enforced(status: Status, answer: int, code: str | None) -> None:
    readiness = Readiness()
    admit = gated(readiness, probes(readiness), Router([echo_route()]))
    readiness.become(status, "the database does not answer")
    async with on_stage(admit=admit) as stage:
        client = stage.connect()
        shown = await client.ask(get("/readyz"))
        assert (shown.status, shown.json["status"]) == (answer, status)
        assert shown.json["reasons"] == ["the database does not answer"]
        assert (await client.ask(get("/livez"))).status == 200
        assert (await client.ask(post("/livez"))).code == "method_not_allowed"
        answered = await client.ask(post(body=b"[]"))
        assert answered.status == 200 if code is None else answered.code == code


async def test_nothing_is_looked_up_behind_a_closed_gate() -> None:
    readiness = Readiness()
    admit = gated(readiness, probes(readiness), Router([echo_route()]))
    async with on_stage(admit=admit) as stage:
        client = stage.connect()
        assert (await client.ask(get("/nowhere"))).code == "starting"
        readiness.become("ready")
        assert (await client.ask(get("/nowhere"))).code == "unknown_route"
