"""TLS material that is replaced while a server serves: what is served, and what is refused."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest
import structlog
import trio
import trustme

from tenure_http import Request, Response, Route, Router, Service, serve
from tenure_http.tls import TlsError
from tenure_process.address import Address, Bound, bind
from tenure_process.certificate import shown_by
from tenure_process.reload import Reload, reload_route
from tests.harness.tls import HOST, TlsFiles

ROUND_TRIPS = 5


class Served:
    """A server with material that can be reloaded, and what it has answered."""

    def __init__(self, files: TlsFiles, bound: Bound) -> None:
        self.files = files
        self.answered = 0
        self.url = f"https://{bound.address}"
        self.switch = bound.switch
        self.reload = Reload(bound.switch, files.material)

    async def answer(self, request: Request) -> Response:
        await trio.lowlevel.checkpoint()
        self.answered += 1
        return Response(200, b"{}")

    def client(self, of: trustme.CA | None = None) -> httpx.AsyncClient:
        return httpx.AsyncClient(base_url=self.url, trust_env=False, verify=self.files.client(of))

    async def ask_once(self, of: trustme.CA | None = None) -> int:
        async with self.client(of) as client:
            return (await client.get("/")).status_code


@pytest.fixture
def log() -> Any:
    """What is logged."""
    with structlog.testing.capture_logs() as entries:
        yield entries


@asynccontextmanager
async def serving(files: TlsFiles) -> AsyncIterator[Served]:
    bound = await bind(Address(HOST, 0), files.material)
    served = Served(files, bound)
    routes = [Route("answer", "GET", "/", served.answer), reload_route(served.reload)]
    async with bound, trio.open_nursery() as nursery:
        service: Service = await nursery.start(partial(serve, bound.listeners, Router(routes)))
        served.reload.retire = service.retire_connections
        yield served
        nursery.cancel_scope.cancel()


@pytest.fixture
async def served(tmp_path: Path, log: Any) -> AsyncIterator[Served]:
    """A server with a certificate."""
    async with serving(TlsFiles(tmp_path)) as each:
        yield each


@pytest.fixture
async def mutual(tmp_path: Path, log: Any) -> AsyncIterator[Served]:
    """A server that asks its clients for certificates."""
    async with serving(TlsFiles(tmp_path, mutual=True)) as each:
        yield each


async def test_no_request_is_lost_in_twenty_reloads(served: Served) -> None:
    sent = 0
    fingerprints = set()
    done = trio.Event()

    async def hammer(client: httpx.AsyncClient | None) -> None:
        nonlocal sent
        while not done.is_set():
            status = (await client.get("/")).status_code if client else await served.ask_once()
            assert status == 200
            sent += 1

    async with served.client() as client, trio.open_nursery() as nursery:
        for kept in (client, client, client, None):
            nursery.start_soon(hammer, kept)
        for _ in range(20):
            served.files.renew()
            certificate = await served.reload()
            assert certificate is not None
            fingerprints.add(certificate.fingerprint)
            before = sent
            while sent < before + ROUND_TRIPS:  # noqa: ASYNC110 - counted by the tasks of the test
                await trio.sleep(0.001)
        done.set()
    assert len(fingerprints) == 20
    assert served.answered == sent


async def test_a_connection_of_before_ends_with_its_next_answer(served: Served) -> None:
    async with served.client() as client:
        assert "close" not in (await client.get("/")).headers.get("Connection", "")
        await served.reload()
        assert (await client.get("/")).headers["Connection"] == "close"
        assert "close" not in (await client.get("/")).headers.get("Connection", "")


async def test_files_that_did_not_change_cost_no_connection(served: Served) -> None:
    async with served.client() as client:
        for changes, ends in ((1, True), (0, False), (0, False), (1, True)):
            for _ in range(changes):
                served.files.renew()
            assert (await client.get("/")).headers.get("Connection") is None
            await served.reload()
            assert ("Connection" in (await client.get("/")).headers) is ends


async def test_the_clients_of_a_new_authority_are_the_only_ones(mutual: Served) -> None:
    old, new = mutual.files.authority, trustme.CA()
    assert await mutual.ask_once(old) == 200
    with pytest.raises(httpx.HTTPError):
        await mutual.ask_once(new)
    assert mutual.files.material.client_ca is not None
    new.cert_pem.write_to_path(str(mutual.files.material.client_ca))
    await mutual.reload()
    assert await mutual.ask_once(new) == 200
    with pytest.raises(httpx.HTTPError):
        await mutual.ask_once(old)


def truncate_key(files: TlsFiles) -> Path:
    files.material.key.write_bytes(files.material.key.read_bytes()[:80])
    return files.material.key


def mismatch(files: TlsFiles) -> Path:
    before = files.material.key.read_bytes()
    files.renew()
    files.material.key.write_bytes(before)
    return files.material.key


def remove_certificate(files: TlsFiles) -> Path:
    files.material.certificate.unlink()
    return files.material.certificate


def put_a_folder_in_the_place(files: TlsFiles) -> Path:
    files.material.key.unlink()
    files.material.key.mkdir()
    return files.material.key


def empty_client_ca(files: TlsFiles) -> Path:
    assert files.material.client_ca is not None
    files.material.client_ca.write_text("")
    return files.material.client_ca


@pytest.mark.parametrize(
    "spoil", [truncate_key, mismatch, remove_certificate, put_a_folder_in_the_place, empty_client_ca]
)
async def test_a_bad_set_leaves_the_old_one_serving(
    mutual: Served, log: Any, spoil: Callable[[TlsFiles], Path]
) -> None:
    old = mutual.files.client(mutual.files.authority)
    assert mutual.switch is not None
    before = shown_by(mutual.switch.context)
    file = spoil(mutual.files)
    async with httpx.AsyncClient(base_url=mutual.url, trust_env=False, verify=old) as client:
        answer = await client.post("/reload")
    assert answer.status_code == 409
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert str(file) in answer.json()["detail"]
    assert [entry["event"] for entry in log] == ["tls_refused"]
    assert shown_by(mutual.switch.context) == before
    async with httpx.AsyncClient(base_url=mutual.url, trust_env=False, verify=old) as client:
        assert (await client.get("/")).status_code == 200


async def test_the_answer_says_what_is_served_now(served: Served, log: Any) -> None:
    served.files.renew()
    async with served.client() as client:
        answer = await client.post("/reload")
    assert answer.status_code == 200
    assert served.switch is not None
    shown = shown_by(served.switch.context)
    assert answer.json() == {"status": "reloaded", **shown.fields}
    assert log == [{"event": "tls_reloaded", "log_level": "info", **shown.fields}]


async def test_a_signal_is_answered_in_the_log(served: Served, log: Any) -> None:
    truncate_key(served.files)
    await served.reload.by_signal()
    served.files.renew()
    await served.reload.by_signal()
    assert [entry["event"] for entry in log] == ["tls_refused", "tls_reloaded"]


async def test_in_plain_text_there_is_nothing_to_reload(log: Any) -> None:
    reload = Reload(None, None)
    await reload.by_signal()
    answer = await reload_route(reload).handler(None)  # type: ignore[arg-type]
    assert (answer.status, json.loads(answer.body)) == (200, {"status": "plaintext"})
    assert {entry["event"] for entry in log} == {"nothing_to_reload"}


async def test_reloads_at_once_happen_one_after_the_other(served: Served, log: Any) -> None:
    async with trio.open_nursery() as nursery:
        for _ in range(5):
            served.files.renew()
            nursery.start_soon(served.reload)
    served.files.renew()
    last = await served.reload()
    assert served.switch is not None
    assert shown_by(served.switch.context) == last
    truncate_key(served.files)
    with pytest.raises(TlsError):
        await served.reload()
