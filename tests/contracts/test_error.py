"""The table of refusals, against the protocol description, and the problem document."""

from __future__ import annotations

import json
from uuid import uuid4

import pytest

from tenure_contracts.error import CODES, OPERATOR_CODES, WORKER_CODES, Refusal
from tenure_contracts.wire import codec
from tenure_contracts.wire.problem import problem

DESCRIBED = """
400 fix malformed_request invalid_json unknown_field invalid_field
401 fix credential_required credential_refused
404 fix unknown_route
404 settled unknown_attempt
405 fix method_not_allowed
408 retry request_timeout
411 fix length_required
413 fix content_too_large
414 fix uri_too_long
415 fix unsupported_media_type
417 fix expectation_failed
426 fix upgrade_required
431 fix header_too_large
409 retry session_conflict
409 stop session_fenced lease_fenced stop_requested
409 refresh lease_expired attestation_conflict
409 fix lease_not_started already_started handle_conflict content_conflict
409 settled attempt_settled
429 retry too_many_failures
501 fix not_available
503 retry starting draining database_unavailable overloaded busy
"""


def test_the_worker_codes_are_exactly_those_of_the_protocol() -> None:
    described = {
        code: (int(status), disposition)
        for status, disposition, *codes in (line.split() for line in DESCRIBED.strip().splitlines())
        for code in codes
    }
    assert {code: (rule.status, rule.disposition) for code, rule in WORKER_CODES.items()} == described


def test_temporary_refusals_always_say_when_to_come_back() -> None:
    for code, rule in CODES.items():
        if rule.status in (429, 503):
            assert rule.retry_after_s is not None, code
        if rule.retry_after_s is not None:
            assert rule.disposition == "retry", code


def test_the_two_tables_do_not_overlap() -> None:
    assert not set(WORKER_CODES) & set(OPERATOR_CODES)


@pytest.mark.parametrize("code", sorted(CODES))
def test_every_code_becomes_a_problem_document(code: str) -> None:
    request_id = uuid4()
    document = json.loads(codec.encode(problem(Refusal(code, "because"), request_id)))
    assert document == {
        "type": "about:blank",
        "title": CODES[code].title,
        "status": CODES[code].status,
        "code": code,
        "detail": "because",
        "disposition": CODES[code].disposition,
        "request_id": str(request_id),
    }


def test_extra_members_are_part_of_the_contract() -> None:
    refusal = Refusal("attestation_conflict", "the next one is 4", last_sequence=3)
    assert json.loads(codec.encode(problem(refusal)))["last_sequence"] == 3
    with pytest.raises(TypeError):
        problem(Refusal("busy", surprise=1))


def test_refusals() -> None:
    with pytest.raises(KeyError):
        Refusal("no_such_code")
    refusal = Refusal("busy", retry_after_s=0.2)
    assert (refusal.status, refusal.disposition, refusal.retry_after_s) == (503, "retry", 0.2)
    assert refusal.detail == "A row is locked by someone else."
    assert Refusal("busy").retry_after_s == 0.5
