"""Certificates that are renewed under a running ingress, and under a running control."""

from __future__ import annotations

import signal
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest
import trio

from tests.harness import ScratchDatabase
from tests.harness.control import open_control
from tests.harness.fake_worker import FakeWorker
from tests.harness.ingress import RunningIngress, open_ingress
from tests.harness.seed import Seed
from tests.harness.tls import TlsFiles


@pytest.fixture
def files(tmp_path: Path) -> TlsFiles:
    """What the ingress serves with."""
    return TlsFiles(tmp_path)


@pytest.fixture
async def ingress(database: ScratchDatabase, files: TlsFiles) -> AsyncIterator[RunningIngress]:
    """An ingress that speaks TLS."""
    async with open_ingress(database, tls=files.material) as running:
        yield running


async def wait_logged(log: list[dict[str, str]], event: str, count: int = 1) -> None:
    with trio.fail_after(5):
        while [entry["event"] for entry in log].count(event) < count:  # noqa: ASYNC110 - a log has no event
            await trio.sleep(0.005)


async def test_a_worker_notices_nothing(ingress: RunningIngress, files: TlsFiles, seed: Seed) -> None:
    async with httpx.AsyncClient(base_url=ingress.url, trust_env=False, verify=files.client()) as http:
        worker = FakeWorker(http, seed.credential("w1"))
        await worker.register()
        for count in range(1, 4):
            files.renew()
            ingress.signal(signal.SIGHUP)
            await worker.heartbeat()
            await wait_logged(ingress.log, "tls_reloaded", count)
            await worker.heartbeat()
        files.material.key.write_text("")
        ingress.signal(signal.SIGHUP)
        await wait_logged(ingress.log, "tls_refused")
        await worker.heartbeat()
        files.renew()
        answer = await ingress.ask_reload()
        assert answer.json()["status"] == "reloaded"
        await worker.heartbeat()
    assert ingress.exit_code is None


async def test_a_hangup_does_not_stop_who_speaks_plain_text(database: ScratchDatabase) -> None:
    async with open_ingress(database) as ingress:
        ingress.signal(signal.SIGHUP)
        await ingress.wait_event("nothing_to_reload")
        assert (await ingress.ask_reload()).json() == {"status": "plaintext"}
        assert (await ingress.probe("/readyz")).status_code == 200
        assert await ingress.stop() == 0


async def test_a_hangup_while_it_stops_is_no_second_signal(
    ingress: RunningIngress, files: TlsFiles, seed: Seed
) -> None:
    ingress.signal(signal.SIGHUP)
    ingress.signal()
    ingress.signal(signal.SIGHUP)
    assert await ingress.wait_ended() == 0
    assert "cut_short" not in ingress.events


async def test_control_swaps_its_certificate_as_well(database: ScratchDatabase, files: TlsFiles) -> None:
    async with open_control(database, tls=files.material) as control:
        url = control.url.replace("http:", "https:")
        async with httpx.AsyncClient(base_url=url, trust_env=False, verify=files.client()) as client:
            assert (await client.get("/livez")).status_code == 200
            files.renew()
            control.signal(signal.SIGHUP)
            await wait_logged(control.log, "tls_reloaded")
            assert (await client.get("/livez")).headers["Connection"] == "close"
            assert (await client.get("/livez")).status_code == 200
