"""The messages of the operator API."""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID

import pytest

from tenure_contracts.error import Refusal
from tenure_contracts.operator.attention import AttestAttempt, ResolveHold
from tenure_contracts.operator.definition import Apply, PutProject
from tenure_contracts.operator.page import Noted, Page
from tenure_contracts.operator.run import Run, RunAttempt, RunEvent, StartRun, StartRuns, decode_submission
from tenure_contracts.operator.worker import Issued
from tenure_contracts.wire import codec
from tenure_contracts.wire.field import Instant

ID = "0190a3c8-5e0c-7f3a-9d51-2f6f0c3f1b77"
NOW = Instant.parse("2026-12-01T00:00:00Z")
START = {"task": "t", "idempotency_key": "k"}


def submit(body: Any) -> StartRun | StartRuns:
    return decode_submission(json.dumps(body).encode())


def test_a_submission_is_one_run_or_a_list() -> None:
    one = submit({**START, "input": {"day": 1.5}, "priority": 5, "revision": None})
    assert isinstance(one, StartRun)
    assert bytes(one.input) == b'{"day": 1.5}'
    many = submit({"runs": [START, {"workflow": "w", "idempotency_key": "l"}]})
    assert isinstance(many, StartRuns)
    assert [run.workflow for run in many.runs] == [None, "w"]


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({}, "invalid_field"),
        ({**START, "workflow": "w"}, "invalid_field"),
        ({"idempotency_key": "k"}, "invalid_field"),
        ({"task": "t"}, "invalid_field"),
        ({**START, "idempotency_key": ""}, "invalid_field"),
        ({**START, "idempotency_key": "a\0"}, "invalid_field"),
        ({**START, "task": "T"}, "invalid_field"),
        ({**START, "priority": 10}, "invalid_field"),
        ({**START, "revision": 0}, "invalid_field"),
        ({**START, "input": "a\0"}, "invalid_field"),
        ({**START, "input": "x" * 65_536}, "invalid_field"),
        ({**START, "tasks": "t"}, "unknown_field"),
        ({"runs": []}, "invalid_field"),
        ({"runs": [START] * 1001}, "invalid_field"),
        ({"runs": [START], "task": "t"}, "unknown_field"),
        ([], "invalid_field"),
    ],
)
def test_bad_submissions(body: Any, code: str) -> None:
    with pytest.raises(Refusal) as caught:
        submit(body)
    assert caught.value.code == code


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[" * 100_000, b'{"task":"t","idempotency_key":"k","input":"\\ud800"}']
)
def test_what_is_not_a_submission(body: bytes) -> None:
    with pytest.raises(Refusal):
        decode_submission(body)


def test_deep_input_is_refused() -> None:
    body = b'{"task":"t","idempotency_key":"k","input":' + b"[" * 200 + b"]" * 200 + b"}"
    with pytest.raises(Refusal, match="depth"):
        decode_submission(body)


@pytest.mark.parametrize(
    ("message", "body"),
    [
        (Noted, {"request_id": ID, "note": "because"}),
        (
            AttestAttempt,
            {"request_id": ID, "lease_generation": 1, "state": "stopped", "note": "seen", "force": False},
        ),
        (ResolveHold, {"request_id": ID, "action": "retry", "note": ""}),
        (PutProject, {"weight": 1}),
        (Apply, {"project": "p", "definitions": {}, "dry_run": True}),
    ],
)
def test_described_bodies_are_strict(message: type[Any], body: dict[str, Any]) -> None:
    codec.decode(json.dumps(body).encode(), message)
    with pytest.raises(Refusal) as caught:
        codec.decode(json.dumps({**body, "surprise": 1}).encode(), message)
    assert caught.value.code == "unknown_field"


def test_an_attestation_needs_its_reason() -> None:
    body = {"request_id": ID, "lease_generation": 1, "state": "stopped", "note": ""}
    with pytest.raises(Refusal, match="note"):
        codec.decode(json.dumps(body).encode(), AttestAttempt)


def test_a_run_is_written_with_the_described_names() -> None:
    run = Run(
        run=UUID(ID),
        project="p",
        kind="task",
        task="t",
        revision=1,
        status="queued",
        version=2,
        attempts=0,
        priority=5,
        created_at=NOW,
    )
    written = json.loads(codec.encode(Page[Run](items=[run], next="c")))
    assert written["next"] == "c"
    (item,) = written["items"]
    described = (
        "run project kind task revision status version attempts created_at queued_at started_at finished_at"
    )
    assert set(described.split()) | {"cancel", "error", "output", "attention", "attention_since"} <= set(item)
    assert "workflow" not in item
    assert item["created_at"] == "2026-12-01T00:00:00.000000Z"


def test_words_of_python_have_their_names_on_the_wire() -> None:
    event = RunEvent(sequence=1, type="run.queued", from_=None, to="queued", actor="scheduler", at=NOW)
    assert "from" in json.loads(codec.encode(event))
    attempt = RunAttempt(attempt=UUID(ID), number=1, try_=1, status="claimed")
    assert json.loads(codec.encode(attempt))["try"] == 1


def test_a_token_is_shown_on_the_wire_once_and_never_in_a_log() -> None:
    issued = Issued(credential="abcdefgh", worker="w", version=1, token="tw1_secret")
    assert "tw1_secret" not in repr(issued)
    assert json.loads(codec.encode(issued))["token"] == "tw1_secret"
    assert "token" not in json.loads(
        codec.encode(Issued(credential="c", worker="w", version=1, replayed=True))
    )
