"""The document itself: valid, complete, the committed one, and in agreement with the protocol's tables."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from jsonschema_rs import Draft202012Validator
from schemathesis.specs.openapi.definitions import OPENAPI_31_VALIDATOR

from tenure.__main__ import root
from tenure_contracts import bounds
from tenure_contracts.error import CODES, WORKER_CODES
from tenure_ingress.call import CALLS
from tenure_ingress.openapi import document, text

COMMITTED = Path(__file__).parents[2] / "docs" / "ingress-openapi.json"

DOCUMENT = document()

FENCE = "attempt offer token lease_generation lease_version"
TOUCHED = "generation version status expires_at server_time advice drain_requested"
ACTIVATED = "status attempt_status run_status lease_version expires_at deadline_at stop server_time"

REQUESTS = {
    "register": "request_id labels executors handlers limit session_lease_s takeover agent",
    "heartbeat": "request_id generation",
    "drain": "request_id generation",
    "offline": "request_id generation",
    "offers": "request_id generation offers wait_s",
    "decline": "request_id generation leases reason",
    "starting": "request_id generation lease",
    "running": "request_id generation lease executor_handle started_at",
    "start-failure": "request_id generation lease error",
    "renew": "request_id generation leases",
    "complete": (
        "request_id generation lease outcome exit_code started_at finished_at output error log stop_answer"
    ),
    "attest": (
        "request_id attempt offer token lease_generation sequence state observed_at scope executor_handle"
        " outcome"
    ),
    "leases": "request_id generation",
    "exchange": "request_id generation items",
    "secrets": "request_id generation lease names",
    "logs": "request_id generation lease offset stream data",
}

ANSWERS = {
    "register": "worker generation version status expires_at server_time replaced advice",
    "heartbeat": TOUCHED,
    "drain": TOUCHED,
    "offline": TOUCHED,
    "offers": "offered settled none drain_requested retry_after_s server_time",
    "decline": "leases",
    "starting": ACTIVATED,
    "running": ACTIVATED,
    "start-failure": ACTIVATED,
    "renew": "leases renew_s drain_requested server_time",
    "complete": "status late output_flag attempt_status run_status server_time",
    "attest": "status sequence lease stop disposition deadline_at server_time",
    "leases": "leases",
    "exchange": "items",
}

PARTS = {
    "Fence": FENCE,
    "Offer": "offer token",
    "Replaced": "session generation",
    "Advice": "heartbeat_s renew_s lease_s",
    "Offered": "offer recovered spawn attempt lease plan input",
    "OfferedAttempt": "attempt run project task revision digest number try step priority status deadline_at",
    "OfferedLease": "lease_generation lease_version acquired_at expires_at",
    "Plan": (
        "executor argv env cwd stdin handler arguments timeout_s kill_grace_s stop_on_lost_contact_s secrets "
        "log_limit_bytes"
    ),
    "DeclinedLease": "attempt status",
    "Stop": "reason requested_at",
    "RenewedLease": "attempt status lease_version expires_at late stop terminal disposition",
    "ErrorReport": "code message",
    "LogReport": "bytes sha256 truncated tail",
    "AttestedOutcome": "outcome exit_code started_at finished_at output error",
    "AttestedLease": "lease_version expires_at",
    "HeldLease": "attempt run offer lease_generation lease_version status expires_at stop",
    "ExchangedItem": "status body problem",
}

WORDS = {
    ("Registered", "status"): "online draining offline replaced",
    ("Register", "executors"): "command handler",
    ("Pulled", "none"): "no_work no_match at_limit draining",
    ("Decline", "reason"): "declined shutdown",
    ("DeclinedLease", "status"): "released fenced",
    ("Activated", "status"): "applied replayed",
    ("RenewedLease", "status"): "renewed stop terminal fenced retry",
    ("Stop", "reason"): "user timeout policy",
    ("Complete", "outcome"): "succeeded failed",
    ("Complete", "stop_answer"): "stopped already_ended ignored",
    ("Completed", "status"): "applied replayed settled",
    ("Completed", "output_flag"): "too_large invalid",
    ("Attest", "state"): "running stopped",
    ("Attest", "scope"): "cgroup group process handler",
    ("Attested", "status"): "recorded replayed",
    ("Attested", "disposition"): "stop settled",
    ("Logs", "stream"): "stdout stderr agent",
}


def schema_of(name: str) -> dict[str, Any]:
    """A component by its name."""
    schema: dict[str, Any] = DOCUMENT["components"]["schemas"][name]
    return schema


def operation_of(call: str) -> dict[str, Any]:
    """The operation of a call."""
    operation: dict[str, Any] = DOCUMENT["paths"][f"/v1/sessions/{{session}}/{call}"]["post"]
    return operation


def message_of(content: dict[str, Any]) -> dict[str, Any]:
    """The component that the JSON body of a request or an answer is."""
    return schema_of(content["content"]["application/json"]["schema"]["$ref"].rpartition("/")[2])


def references(part: Any) -> Iterator[str]:
    """Every reference below a part of the document."""
    values = part.values() if isinstance(part, dict) else part if isinstance(part, list) else ()
    if isinstance(part, dict) and isinstance(part.get("$ref"), str):
        yield part["$ref"]
    for value in values:
        yield from references(value)


def words_in(schema: dict[str, Any]) -> set[str]:
    """The words that a field, or an item of it, may be."""
    parts = [schema, schema.get("items", {}), *schema.get("anyOf", [])]
    return {word for part in parts for word in part.get("enum", [])}


def test_it_is_valid_openapi_3_1() -> None:
    assert [error.message for error in OPENAPI_31_VALIDATOR.iter_errors(DOCUMENT)] == []


def test_every_reference_leads_somewhere() -> None:
    for reference in set(references(DOCUMENT)):
        part: Any = DOCUMENT
        for step in reference.removeprefix("#/").split("/"):
            part = part[step]


def test_the_committed_one_is_this_one() -> None:
    assert COMMITTED.read_text() == text(), (
        "write it anew: tenure ingress openapi > docs/ingress-openapi.json"
    )


def test_the_command_prints_it_without_settings() -> None:
    shown = CliRunner(env={"TENURE_INGRESS_DATABASE_URL": None}).invoke(root, ["ingress", "openapi"])
    assert (shown.exit_code, shown.output) == (0, text())


def test_every_call_and_nothing_else_is_described() -> None:
    assert {call.path.rpartition("/")[2] for call in CALLS} == REQUESTS.keys()
    assert DOCUMENT["paths"].keys() == {call.path for call in CALLS}


@pytest.mark.parametrize("call", REQUESTS)
def test_a_call_has_the_fields_of_the_protocol(call: str) -> None:
    operation = operation_of(call)
    assert set(message_of(operation["requestBody"])["properties"]) == set(REQUESTS[call].split())
    if call in ANSWERS:
        assert set(message_of(operation["responses"]["200"])["properties"]) == set(ANSWERS[call].split())
    else:
        assert "200" not in operation["responses"]


@pytest.mark.parametrize("part", PARTS)
def test_a_part_has_the_fields_of_the_protocol(part: str) -> None:
    assert set(schema_of(part)["properties"]) == set(PARTS[part].split())


@pytest.mark.parametrize("field", WORDS, ids=".".join)
def test_a_field_has_the_words_of_the_protocol(field: tuple[str, str]) -> None:
    message, name = field
    assert words_in(schema_of(message)["properties"][name]) == set(WORDS[field].split())


def test_requests_refuse_unknown_keys_and_answers_do_not() -> None:
    for call in REQUESTS:
        assert message_of(operation_of(call)["requestBody"])["additionalProperties"] is False
    for call in ANSWERS:
        assert "additionalProperties" not in message_of(operation_of(call)["responses"]["200"])


def test_an_item_of_an_exchange_is_its_call_without_the_generation() -> None:
    items, anything = message_of(operation_of("exchange")["requestBody"])["properties"]["items"]["items"][
        "anyOf"
    ]
    assert anything == {}
    for call, reference in items["discriminator"]["mapping"].items():
        fields = set(schema_of(reference.rpartition("/")[2])["properties"])
        assert fields == {"call", *REQUESTS[call].split()} - {"generation"}


@pytest.mark.parametrize("call", CALLS, ids=lambda call: call.name)
def test_every_refusal_is_described_with_its_status_and_disposition(call: Any) -> None:
    described: dict[str, int] = {}
    for status, response in operation_of(call.name)["responses"].items():
        if status != "200":
            described |= dict.fromkeys(codes_of(response), int(status))
    assert described == {code: CODES[code].status for code in call.codes}


def codes_of(response: dict[str, Any]) -> list[str]:
    """The codes of a response, each with the constants of the closed table."""
    if "$ref" in response:
        response = DOCUMENT["components"]["responses"][response["$ref"].rpartition("/")[2]]
    schema = response["content"]["application/problem+json"]["schema"]
    found = []
    for reference in references({key: value for key, value in schema.items() if key != "discriminator"}):
        properties = schema_of(reference.rpartition("/")[2])["properties"]
        rule = CODES[properties["code"]["const"]]
        assert properties["status"]["const"] == rule.status
        assert properties["disposition"]["const"] == rule.disposition
        assert properties["title"]["const"] == rule.title
        found.append(properties["code"]["const"])
    return found


def test_every_code_of_the_protocol_is_reached_by_some_call() -> None:
    assert {code for call in CALLS for code in call.codes} == WORKER_CODES.keys()


@pytest.mark.parametrize(
    ("status", "header", "required"),
    [
        ("401", "WWW-Authenticate", True),
        ("405", "Allow", True),
        ("409", "Retry-After", False),
        ("426", "Upgrade", True),
        ("429", "Retry-After", True),
        ("503", "Retry-After", True),
        ("503", "Connection", False),
    ],
)
def test_what_a_refusal_says_in_its_header(status: str, header: str, *, required: bool) -> None:
    response = operation_of("register")["responses"][status]
    if "$ref" in response:
        response = DOCUMENT["components"]["responses"][response["$ref"].rpartition("/")[2]]
    assert response["headers"][header].get("required", False) is required


def test_bounds_are_told() -> None:
    assert str(bounds.REQUEST_BYTES) in operation_of("renew")["requestBody"]["description"]
    assert str(bounds.EXCHANGE_BYTES) in operation_of("exchange")["requestBody"]["description"]
    assert schema_of("Renew")["properties"]["leases"]["maxItems"] == bounds.LEASES_PER_RENEWAL
    assert "without fraction" in DOCUMENT["info"]["description"]


@pytest.mark.parametrize("call", CALLS, ids=lambda call: call.name)
def test_examples_are_as_their_schemas_say(call: Any) -> None:
    operation = operation_of(call.name)
    for part in (operation["requestBody"], operation["responses"].get("200")):
        if part is not None:
            content = part["content"]["application/json"]
            schema = {**content["schema"], "components": DOCUMENT["components"]}
            Draft202012Validator(schema, validate_formats=True).validate(content["example"])


def test_a_token_has_its_form() -> None:
    scheme = DOCUMENT["components"]["securitySchemes"]["worker"]
    assert (scheme["type"], scheme["scheme"]) == ("http", "bearer")
    assert re.match("tw1_", scheme["bearerFormat"])
    assert DOCUMENT["security"] == [{"worker": []}]
