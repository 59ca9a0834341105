"""What schemathesis found once, each as a test of its own."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import msgspec
import pytest

from tenure_contracts.error import Refusal
from tenure_contracts.wire.codec import decode
from tenure_contracts.wire.session import Heartbeat, Register
from tenure_ingress.call import CALLS
from tenure_ingress.example import example
from tenure_ingress.openapi import document
from tests.harness import ScratchDatabase
from tests.harness.fake_worker import JSON, open_fake_worker
from tests.harness.ingress import open_ingress

SCHEMAS: dict[str, Any] = document()["components"]["schemas"]


async def test_a_call_that_is_not_offered_is_refused_to_what_is_no_token(database: ScratchDatabase) -> None:
    """It was documented as 401 `credential_required` only."""
    absent = [call for call in CALLS if call.operation is None]
    async with open_ingress(database) as ingress, open_fake_worker(ingress.url, "tw1") as worker:
        for call in absent:
            response = await worker.send(
                call.name, headers={"Authorization": "Bearer tw1", **JSON}, content=b"{}"
            )
            assert response.json()["code"] == "credential_refused"
            assert "credential_refused" in call.codes
    assert absent


@pytest.mark.parametrize("field", ["executors", "handlers"])
def test_a_registration_names_nothing_twice(field: str) -> None:
    """The schema allowed it, and the message did not."""
    body = {**example(Register), field: ["command", "command"]}
    with pytest.raises(Refusal, match="names something twice"):
        decode(msgspec.json.encode(body), Register)
    assert SCHEMAS["Register"]["properties"][field]["uniqueItems"] is True


def test_an_integer_has_no_fraction() -> None:
    """To schemas 1.0 is an integer; here it is not, and the document says so in words."""
    with pytest.raises(Refusal, match="got `float`"):
        decode(b'{"request_id": "%s", "generation": 1.0}' % str(uuid4()).encode(), Heartbeat)
    assert "Integers are written without fraction and exponent" in document()["info"]["description"]
