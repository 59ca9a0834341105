"""The table of routes: everything that the interface has, and what this version does not do yet."""

from __future__ import annotations

from uuid import uuid4

import pytest

from tenure_postgres.error import (
    Busy,
    Conflict,
    DatabaseError,
    DataFault,
    Misconfigured,
    OutcomeUnknown,
    Overloaded,
    Unavailable,
)
from tests.harness.operator import OperatorApi, OperatorClient

MISSING = [
    ("PUT", "/v1/projects/shop/workflows/w"),
    ("GET", "/v1/projects/shop/workflows/w"),
    ("GET", "/v1/projects/shop/workflows/w/revisions/1"),
    ("GET", "/v1/projects/shop/workflows"),
    ("POST", "/v1/projects/shop/archive"),
    ("POST", "/v1/projects/shop/tasks/t/archive"),
    ("POST", "/v1/projects/shop/triggers/t/archive"),
    ("POST", "/v1/projects/shop/workflows/t/archive"),
    ("GET", f"/v1/projects/shop/runs/{uuid4()}/steps"),
    ("GET", f"/v1/projects/shop/runs/{uuid4()}/logs?follow=true"),
    ("GET", f"/v1/projects/shop/runs/{uuid4()}/explain"),
    ("POST", f"/v1/projects/shop/runs/{uuid4()}/rerun"),
    ("POST", f"/v1/projects/shop/attempts/{uuid4()}/attest"),
    ("GET", "/v1/quarantine"),
    ("GET", "/v1/quarantine/7"),
    ("POST", "/v1/quarantine/7/resolve"),
    ("GET", "/v1/recovery"),
    ("POST", "/v1/recovery/7/release"),
    ("GET", "/v1/audit"),
]


async def test_a_call_that_is_not_there_yet_says_so(owner: OperatorClient) -> None:
    for method, path in MISSING:
        answer = await owner.call(method, path, None if method == "GET" else b"{}")
        assert (answer.status, answer.code) == (501, "not_available"), path
        assert answer.json["disposition"] == "fix"


async def test_what_the_interface_does_not_have_is_unknown(owner: OperatorClient) -> None:
    assert (await owner.get("/v1/nothing")).code == "unknown_route"
    assert (await owner.put("/v1/apply", {})).code == "method_not_allowed"
    assert (await owner.call("POST", "/v1/apply", b"{}", content_type="text/plain")).status == 415
    assert (await owner.call("PUT", "/v1/projects/shop", b" " * 20_000)).status == 413


async def test_the_cadence_is_what_the_process_says(api: OperatorApi) -> None:
    api.cycles += [{"cycle": 2, "saturated": False}, {"cycle": 1, "saturated": True}]
    assert (await api.owner.get("/v1/cadence")).json == {"items": api.cycles, "next": None}


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (Busy("locked", "55P03"), 503, "busy"),
        (Overloaded("full"), 503, "overloaded"),
        (Unavailable("gone"), 503, "database_unavailable"),
        (OutcomeUnknown("who knows"), 503, "database_unavailable"),
        (Misconfigured("no privilege", "42501"), 503, "database_unavailable"),
        (Conflict("twice", "23505"), 503, "busy"),
        (DataFault("no number", "22003"), 400, "invalid_field"),
    ],
)
async def test_errors_of_the_database_are_answers(
    api: OperatorApi, monkeypatch: pytest.MonkeyPatch, error: Exception, status: int, code: str
) -> None:
    async def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("tenure_postgres.database.Database.fetch", fail)
    answer = await api.owner.get("/v1/cadence")
    assert (answer.status, answer.code) == (status, code)
    assert status != 503 or "Retry-After" in answer.headers


async def test_a_fault_that_no_caller_can_help_stays_an_error(
    api: OperatorApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*_: object, **__: object) -> None:
        raise DatabaseError("internal", "XX000")

    monkeypatch.setattr("tenure_postgres.database.Database.fetch", fail)
    with pytest.raises(DatabaseError):
        await api.owner.get("/v1/cadence")
