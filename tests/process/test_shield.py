"""Errors of the database as refusals: what a caller can act on, and nothing else."""

from __future__ import annotations

import pytest

from tenure_contracts.error import Refusal
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
from tenure_process.shield import refusals


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (Overloaded("words"), "overloaded"),
        (Busy("words", "55P03"), "busy"),
        (Conflict("words", "23505"), "busy"),
        (DataFault("words", "22001"), "invalid_field"),
        (Unavailable("words"), "database_unavailable"),
        (Misconfigured("words", "42883"), "database_unavailable"),
        (OutcomeUnknown("words"), "database_unavailable"),
    ],
)
def test_what_a_caller_can_act_on_is_a_refusal(error: DatabaseError, code: str) -> None:
    with pytest.raises(Refusal) as caught, refusals():
        raise error
    assert caught.value.code == code
    assert caught.value.__cause__ is error
    assert "words" not in caught.value.detail


def test_what_a_person_has_to_mend_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(Refusal), refusals():
        raise Misconfigured("permission denied for table runs", "42501")
    assert "permission denied for table runs" in caplog.text


@pytest.mark.parametrize(
    "bug", [Conflict("guard", "TN001"), Conflict("check", "23514"), DatabaseError("internal", "XX000")]
)
def test_a_bug_stays_one(bug: DatabaseError) -> None:
    with pytest.raises(type(bug)) as caught, refusals():
        raise bug
    assert caught.value is bug
