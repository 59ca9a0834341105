"""Requests that are wrong before the database is asked: each gets its code, in the order of the checks."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import uuid4

import httpx
import pytest

from tenure_contracts.error import CODES
from tests.harness import ScratchDatabase
from tests.harness.fake_worker import FakeWorker, refused
from tests.harness.ingress import RunningIngress
from tests.harness.seed import Seed
from tests.ingress.conftest import claim

JSON = {"Content-Type": "application/json"}


def check(response: httpx.Response, code: str) -> Any:
    """A problem document with this code, whole; returned."""
    assert (response.status_code, response.json()["code"]) == (CODES[code].status, code), response.text
    assert response.headers["Content-Type"] == "application/problem+json"
    document = response.json()
    assert document["status"] == response.status_code
    assert document["disposition"] == CODES[code].disposition
    assert {"type", "title", "detail", "request_id"} <= document.keys()
    return document


async def test_every_wrong_credential_is_the_same_answer(worker: FakeWorker, seed: Seed) -> None:
    other = seed.credential("w2")
    wrong = [
        worker.token[:-1] + ("A" if worker.token[-1] != "A" else "E"),  # a wrong secret
        "tw1_unknown00_" + worker.token.rpartition("_")[2],  # an unknown credential
        worker.token.replace("tw1", "to1"),  # an operator's
        other.rpartition("_")[0] + "_" + worker.token.rpartition("_")[2],  # somebody else's secret
        "tw1_short",
        "tw1",
    ]
    answers = []
    for token in wrong:
        response = await worker.send(
            "heartbeat",
            {"request_id": str(uuid4()), "generation": 1},
            headers={"Authorization": f"Bearer {token}", **JSON},
        )
        document = check(response, "credential_refused")
        assert "Bearer" in response.headers["WWW-Authenticate"]
        document.pop("request_id")
        answers.append(document)
    assert all(answer == answers[0] for answer in answers)


async def test_a_credential_is_required_before_the_body(worker: FakeWorker) -> None:
    for header in ({}, {"Authorization": "Basic dTpw"}, {"Authorization": "Bearer"}):
        response = await worker.send("heartbeat", content=b"{", headers={**header, **JSON})
        check(response, "credential_required")


async def test_every_call_checks_the_credential_in_the_database(worker: FakeWorker, seed: Seed) -> None:
    work = await claim(seed, worker)
    thief = worker.another()
    thief.session, thief.token = worker.session, worker.token[:-4] + "AAAA"
    calls = [
        thief.register(),
        thief.heartbeat(),
        thief.drain(),
        thief.offline(),
        thief.pull(),
        thief.decline(work),
        thief.starting(work),
        thief.running(work),
        thief.start_failure(work),
        thief.renew(work),
        thief.complete(work),
    ]
    for call in calls:
        with refused("credential_refused"):
            await call
    assert (await worker.starting(work))["status"] == "applied"


async def test_a_rotated_a_revoked_and_an_expired_credential_end_at_once(
    worker: FakeWorker, seed: Seed, database: ScratchDatabase
) -> None:
    older = worker.token
    worker.token = seed.credential("w1", credential=older.split("_")[1])
    await worker.heartbeat()
    worker.token, newer = older, worker.token
    with refused("credential_refused"):
        await worker.heartbeat()
    worker.token = newer
    database.execute("UPDATE tenure.worker_credentials SET expires_at = tenure.clock() + interval '1 hour'")
    await worker.heartbeat()
    database.shift(timedelta(hours=2))
    with refused("credential_refused"):
        await worker.heartbeat()
    database.execute("UPDATE tenure.worker_credentials SET expires_at = NULL, state = 'revoked'")
    with refused("credential_refused"):
        await worker.heartbeat()


async def test_a_call_that_is_not_offered_says_so(worker: FakeWorker) -> None:
    for name in ("secrets", "logs"):
        check(await worker.send(name, {"request_id": str(uuid4())}), "not_available")


async def test_routes_and_methods(worker: FakeWorker) -> None:
    headers = {"Authorization": f"Bearer {worker.token}", **JSON}
    check(await worker.send("dance", {}), "unknown_route")
    check(await worker.http.post("/v1/sessions", headers=headers, json={}), "unknown_route")
    response = await worker.http.get(f"/v1/sessions/{worker.session}/heartbeat", headers=headers)
    check(response, "method_not_allowed")
    assert response.headers["Allow"] == "POST"


BODIES: dict[str, tuple[bytes, str, str]] = {
    "no JSON": (b"{", "invalid_json", ""),
    "an unknown key": (b'{"request_id": "%s", "generation": 1, "x": 1}', "unknown_field", "x"),
    "a missing key": (b'{"request_id": "%s"}', "invalid_field", "generation"),
    "a wrong type": (b'{"request_id": "%s", "generation": "1"}', "invalid_field", "$.generation"),
    "out of bounds": (b'{"request_id": "%s", "generation": 0}', "invalid_field", "$.generation"),
    "no object": (b"[]", "invalid_field", "$"),
    "no UUID": (b'{"request_id": "1", "generation": 1}', "invalid_field", "$.request_id"),
}


async def test_a_body_that_is_wrong_is_told_where(worker: FakeWorker) -> None:
    headers = {"Authorization": f"Bearer {worker.token}", **JSON}
    for body, code, where in BODIES.values():
        content = body.replace(b"%s", str(uuid4()).encode())
        document = check(await worker.send("heartbeat", content=content, headers=headers), code)
        assert where in document["detail"]


async def test_a_session_in_the_path_must_be_a_uuid(worker: FakeWorker) -> None:
    worker.session = "not-a-uuid"
    with refused("invalid_field"):
        await worker.heartbeat()


async def test_a_body_has_a_type(worker: FakeWorker) -> None:
    text = {"Authorization": f"Bearer {worker.token}", "Content-Type": "text/plain"}
    check(await worker.send("heartbeat", content=b"{}", headers=text), "unsupported_media_type")


async def test_the_request_id_of_the_sender_is_echoed_in_refusals(worker: FakeWorker) -> None:
    request_id = str(uuid4())
    with refused("session_fenced") as answers:
        await worker.call("heartbeat", request_id=request_id, generation=9)
    assert answers[0].problem["request_id"] == request_id


async def test_a_lease_token_has_a_form(worker: FakeWorker) -> None:
    for token in ("short", "t" * 42 + "\n", "t" * 42 + "!"):
        with refused("invalid_field") as answers:
            await worker.offers([{"offer": str(uuid4()), "token": token}])
        detail = answers[0].problem["detail"]
        assert "$.offers[" in detail
        assert token not in detail


REGISTRATIONS: dict[str, dict[str, Any]] = {
    "no executors": {"executors": []},
    "an unknown executor": {"executors": ["wasm"]},
    "a limit of zero": {"limit": 0},
    "a label with a NUL": {"labels": {"a": "\0"}},
    "a label key with a newline": {"labels": {"a\n": "b"}},
    "a handler twice": {"handlers": ["a", "a"]},
    "a lease that is too short": {"session_lease_s": 0.1},
    "an agent with a NUL": {"agent": "\0"},
}


async def test_a_registration_is_checked_whole(unregistered: FakeWorker, database: ScratchDatabase) -> None:
    body = {"request_id": str(uuid4()), "executors": ["command"], "limit": 1}
    for change in REGISTRATIONS.values():
        with refused("invalid_field"):
            await unregistered.call("register", **{**body, **change})
    assert database.value("SELECT count(*) FROM tenure.worker_sessions") == 0


async def test_a_bug_is_an_internal_error_without_details(
    worker: FakeWorker, ingress: RunningIngress, database: ScratchDatabase, caplog: pytest.LogCaptureFixture
) -> None:
    database.execute(
        "CREATE OR REPLACE FUNCTION tenure.lock_items(p_attempts uuid[], p_workers text[]) RETURNS uuid[]"
        " LANGUAGE plpgsql AS $$ BEGIN RAISE internal_error; END $$"
    )
    work = {"attempt": str(uuid4()), "offer": str(uuid4()), "token": "t" * 43}
    body = {"generation": 1, "lease": {**work, "lease_generation": 1, "lease_version": 1}}
    response = await worker.send("starting", {"request_id": str(uuid4()), **body})
    document = check(response, "internal_error")
    assert "internal_error" not in document["detail"]
    assert document["request_id"] in caplog.text
    assert 'tenure_ingress_failures_total{route="starting"} 1.0' in (await ingress.probe("/metrics")).text


async def test_metrics_have_bounded_labels(worker: FakeWorker, ingress: RunningIngress) -> None:
    async def series() -> set[str]:
        text = (await ingress.probe("/metrics")).text
        return {line.rpartition(" ")[0] for line in text.splitlines() if not line.startswith("#")}

    for path in ("/v1/sessions/x/y", "/a", "/b/c"):
        await worker.http.post(path, headers={"Authorization": "Bearer x"})
    before = await series()
    for path in ("/d", "/v1/sessions/z/heartbeat/more", "/v1/sessions/x/z"):
        await worker.http.post(path, headers={"Authorization": "Bearer x"})
    assert await series() == before
    assert 'tenure_ingress_refusals_total{code="unknown_route",route="-"}' in before
