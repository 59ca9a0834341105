"""The messages of the worker protocol: strict in, exact out, and never an exception of another kind."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone
from typing import Any
from uuid import UUID, uuid4

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure_contracts import base64url, bounds
from tenure_contracts.error import Refusal
from tenure_contracts.operator.definition import Apply
from tenure_contracts.plan import StoredPlan, decode_plan, encode_plan
from tenure_contracts.wire import codec
from tenure_contracts.wire.attestation import Attest
from tenure_contracts.wire.codec import Request
from tenure_contracts.wire.completion import Complete, completion_payload
from tenure_contracts.wire.exchange import Exchange, read_items
from tenure_contracts.wire.field import Instant, instant
from tenure_contracts.wire.lease import Fence, ListLeases, Renew, Renewed, Running, StartFailure, Starting
from tenure_contracts.wire.offer import Decline, Pull, Pulled, plan_of
from tenure_contracts.wire.session import Drain, Heartbeat, Offline, Register
from tenure_contracts.wire.supply import Logs, Secrets

ID = "0190a3c8-5e0c-7f3a-9d51-2f6f0c3f1b77"
OTHER = "0190a3c8-5e0c-7f3a-9d51-2f6f0c3f1b78"
TOKEN = "A" * 43
TIME = "2026-12-01T00:00:00.000000Z"
FENCE = {"attempt": ID, "offer": OTHER, "token": TOKEN, "lease_generation": 1, "lease_version": 4}
FENCES = [{**FENCE, "attempt": str(UUID(int=n + 1))} for n in range(257)]
SESSION = {"request_id": ID, "generation": 3}
ACK = {**SESSION, "lease": FENCE}

BODIES: dict[type[Request], dict[str, Any]] = {
    Register: {
        "request_id": ID,
        "labels": {"region": "eu"},
        "executors": ["command", "handler"],
        "handlers": ["resize"],
        "limit": 8,
        "session_lease_s": 45,
        "takeover": False,
        "agent": "tenure-worker/0.1",
    },
    Heartbeat: SESSION,
    Drain: SESSION,
    Offline: SESSION,
    ListLeases: SESSION,
    Pull: {**SESSION, "offers": [{"offer": ID, "token": TOKEN}], "wait_s": 20},
    Decline: {**SESSION, "leases": [FENCE], "reason": "declined"},
    Starting: ACK,
    Running: {**ACK, "executor_handle": "pid:1", "started_at": TIME},
    StartFailure: {**ACK, "error": {"code": "no_program", "message": "not found"}},
    Renew: {**SESSION, "leases": [FENCE]},
    Complete: {
        **ACK,
        "outcome": "succeeded",
        "exit_code": 0,
        "started_at": TIME,
        "finished_at": TIME,
        "output": {"rows": [1.5]},
        "error": None,
        "log": {"bytes": 3, "sha256": TOKEN, "truncated": False},
        "stop_answer": None,
    },
    Attest: {
        "request_id": ID,
        "attempt": ID,
        "offer": OTHER,
        "token": TOKEN,
        "lease_generation": 1,
        "sequence": 1,
        "state": "stopped",
        "observed_at": TIME,
        "scope": "cgroup",
        "executor_handle": None,
        "outcome": {
            "outcome": "failed",
            "exit_code": 1,
            "started_at": TIME,
            "finished_at": TIME,
            "output": None,
            "error": None,
        },
    },
    Secrets: {**ACK, "names": ["db-password"]},
    Logs: {**ACK, "offset": 0, "stream": "stdout", "data": "aGk"},
    Exchange: {"generation": 1, "items": [{"call": "renew", "request_id": ID, "leases": [FENCE]}]},
}

every_message = pytest.mark.parametrize("message", BODIES, ids=lambda message: message.__name__)


def read(message: type[Any], body: object) -> Any:
    return codec.decode(json.dumps(body).encode(), message)


def refused(message: type[Any], body: object) -> Refusal:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    with pytest.raises(Refusal) as caught:
        codec.decode(raw, message)
    return caught.value


@every_message
def test_the_described_body_is_read_and_written_again(message: type[Request]) -> None:
    first = read(message, BODIES[message])
    written = json.loads(codec.encode(first))
    assert {**written, **BODIES[message]} == written
    assert codec.encode(read(message, written)) == codec.encode(first)


@every_message
def test_an_unknown_key_is_refused(message: type[Request]) -> None:
    refusal = refused(message, {**BODIES[message], "surprise": 1})
    assert refusal.code == "unknown_field"
    assert "surprise" in refusal.detail
    assert "`$" in refusal.detail


@every_message
def test_a_missing_or_wrong_field_is_refused_with_its_path(message: type[Request]) -> None:
    required = [
        field.encode_name
        for field in msgspec.structs.fields(message)
        if field.default is msgspec.NODEFAULT and field.default_factory is msgspec.NODEFAULT
    ]
    for name in required:
        rest = {key: value for key, value in BODIES[message].items() if key != name}
        missing = refused(message, rest)
        assert missing.code == "invalid_field"
        assert name in missing.detail
        wrong = refused(message, {**BODIES[message], name: {"not": "this"}})
        assert (wrong.code, f"`$.{name}" in wrong.detail) in (
            ("invalid_field", True),
            ("unknown_field", True),
        )


@every_message
@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"", "invalid_json"),
        (b"{", "invalid_json"),
        (b"nan", "invalid_json"),
        (b"\xff", "invalid_json"),
        (b"\xef\xbb\xbf{}", "invalid_json"),
        (b"[]", "invalid_field"),
        (b"[" * 100_000, "invalid_field"),
        (b"null", "invalid_field"),
        (b'"text"', "invalid_field"),
    ],
)
def test_what_is_not_a_body(message: type[Request], body: bytes, code: str) -> None:
    assert refused(message, body).code == code


@every_message
def test_what_follows_a_body_is_refused(message: type[Request]) -> None:
    assert refused(message, json.dumps(BODIES[message]).encode() + b" {}").code == "invalid_json"


def test_deep_nesting_is_a_refusal() -> None:
    body = b'{"project":"p","definitions":{"tasks":' + b"[" * 5000 + b"]" * 5000 + b"}}"
    refusal = refused(Apply, body)
    assert (refusal.code, refusal.detail) == ("invalid_json", "The body is nested too deeply.")


@every_message
@given(junk=st.binary(max_size=40))
def test_junk_is_always_a_refusal(message: type[Request], junk: bytes) -> None:
    with pytest.raises(Refusal):
        codec.decode(junk, message)


@given(
    message=st.sampled_from(list(BODIES)),
    cut=st.integers(0, 400),
    replacement=st.binary(max_size=3),
)
def test_a_damaged_body_is_read_or_refused(message: type[Request], cut: int, replacement: bytes) -> None:
    body = json.dumps(BODIES[message]).encode()
    damaged = body[:cut] + replacement + body[cut + len(replacement) :]
    try:
        decoded = codec.decode(damaged, message)
    except Refusal:
        return
    codec.encode(decoded)
    codec.content_digest(decoded)


BAD_FIELDS: list[tuple[type[Request], str, Any]] = [
    (Register, "limit", 0),
    (Register, "limit", 1025),
    (Register, "limit", 1.5),
    (Register, "limit", "8"),
    (Register, "limit", True),
    (Register, "executors", []),
    (Register, "executors", ["shell"]),
    (Register, "executors", ["command", "command"]),
    (Register, "handlers", ["a", "a"]),
    (Register, "handlers", ["a b"]),
    (Register, "handlers", ["a\n"]),
    (Register, "handlers", [f"h{n}" for n in range(257)]),
    (Register, "labels", {f"k{n}": "v" for n in range(65)}),
    (Register, "labels", {"k" * 64: "v"}),
    (Register, "labels", {"k\n": "v"}),
    (Register, "labels", {"k": "v" * 129}),
    (Register, "labels", {"k": "v\0"}),
    (Register, "labels", {"k": "v\n"}),
    (Register, "labels", {"k": 1}),
    (Register, "session_lease_s", 0.5),
    (Register, "session_lease_s", 3601),
    (Register, "agent", "a\0"),
    (Register, "agent", "a" * 129),
    (Register, "request_id", "x"),
    (Heartbeat, "generation", 0),
    (Heartbeat, "generation", 2**31),
    (Pull, "wait_s", -1),
    (Pull, "wait_s", 30.5),
    (Pull, "offers", []),
    (Pull, "offers", [{"offer": str(UUID(int=n)), "token": f"{n:043d}"} for n in range(17)]),
    (Pull, "offers", [{"offer": ID, "token": TOKEN}] * 2),
    (Pull, "offers", [{"offer": ID, "token": TOKEN}, {"offer": OTHER, "token": TOKEN}]),
    (Pull, "offers", [{"offer": ID, "token": "A" * 42}]),
    (Pull, "offers", [{"offer": ID, "token": "A" * 42 + "="}]),
    (Pull, "offers", [{"offer": ID, "token": "A" * 43 + "\n"}]),
    (Renew, "leases", []),
    (Renew, "leases", FENCES),
    (Renew, "leases", [FENCE, FENCE]),
    (Decline, "reason", "bored"),
    (Decline, "leases", [FENCE, FENCE]),
    (Starting, "lease", {**FENCE, "lease_version": 0}),
    (Starting, "lease", {**FENCE, "lease_generation": 0}),
    (Running, "executor_handle", ""),
    (Running, "executor_handle", "a\0"),
    (Running, "executor_handle", "a" * 257),
    (Running, "started_at", "2026-12-01T00:00:00"),
    (Running, "started_at", 1_796_088_600),
    (Running, "started_at", None),
    (Complete, "outcome", "timed_out"),
    (Complete, "exit_code", 2**63),
    (Complete, "stop_answer", "yes"),
    (Attest, "sequence", 0),
    (Attest, "state", "unknown"),
    (Attest, "scope", "galaxy"),
    (Attest, "state", "running"),
    (Secrets, "names", []),
    (Secrets, "names", ["../x"]),
    (Logs, "offset", -1),
    (Logs, "stream", "console"),
    (Logs, "data", "a"),
    (Logs, "data", "aGk="),
    (Logs, "data", "a+/k"),
    (Logs, "data", "A" * 349_527),
    (Exchange, "items", []),
    (Exchange, "items", [{}] * 65),
]


@pytest.mark.parametrize(("message", "field", "value"), BAD_FIELDS)
def test_bounds_are_enforced(message: type[Request], field: str, value: Any) -> None:
    refusal = refused(message, {**BODIES[message], field: value})
    assert refusal.code == "invalid_field"
    assert "`$" in refusal.detail


def test_bounds_are_inclusive() -> None:
    assert len(read(Renew, {**BODIES[Renew], "leases": FENCES[:256]}).leases) == bounds.LEASES_PER_RENEWAL
    full = base64url.encode(b"x" * bounds.LOG_CHUNK_BYTES)
    assert base64url.decode(read(Logs, {**BODIES[Logs], "data": full}).data) == b"x" * bounds.LOG_CHUNK_BYTES
    assert read(Register, {**BODIES[Register], "limit": 1024, "session_lease_s": 1}).limit == 1024


def test_optional_fields_may_be_left_out() -> None:
    register = read(Register, {"request_id": ID, "executors": ["command"], "limit": 1})
    assert (register.labels, register.handlers, register.session_lease_s) == ({}, (), 45.0)
    assert read(Pull, {**SESSION, "offers": [{"offer": ID, "token": TOKEN}]}).wait_s == 0
    read(Complete, {**ACK, "outcome": "failed"})


def test_of_duplicate_keys_the_last_wins() -> None:
    body = json.dumps(SESSION)[:-1].encode() + b', "generation": 9}'
    assert codec.decode(body, Heartbeat).generation == 9


# -- times ---------------------------------------------------------------------------------------------


@given(st.timedeltas(timedelta(days=1), timedelta(days=3_652_000)), st.integers(-1439, 1439))
def test_times_round_trip(since_year_one: timedelta, offset_minutes: int) -> None:
    zone = timezone(timedelta(minutes=offset_minutes))
    moment = (datetime.min.replace(tzinfo=UTC) + since_year_one).astimezone(zone)
    text = Instant.of(moment).text()
    assert len(text) == 27
    assert Instant.parse(text) == moment
    assert Instant.parse(moment.isoformat()) == moment


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-12-01T00:00:00Z", TIME),
        ("2026-12-01t02:00:00.0+02:00", TIME),
        ("2026-11-30T20:00:00-04:00", TIME),
        ("2026-12-01T00:00:00.123456789z", "2026-12-01T00:00:00.123456Z"),
        ("2026-12-31T23:59:60.7Z", "2027-01-01T00:00:00.000000Z"),
    ],
)
def test_times_are_written_in_utc_with_microseconds(text: str, expected: str) -> None:
    assert Instant.parse(text).text() == expected


@pytest.mark.parametrize(
    "text",
    [
        "2026-12-01",
        "2026-12-01T00:00:00",
        "2026-12-01 00:00:00Z",
        "2026-12-01T00:00Z",
        "2026-12-01T24:00:00Z",
        "2026-13-01T00:00:00Z",
        "2026-12-01T23:59:61Z",
        "2026-12-01T00:00:00+0200",
        "2026-12-01T00:00:00Z\n",
        "0001-01-01T00:00:00+23:00",
        "٢٠٢٦-12-01T00:00:00Z",
        "",
    ],
)
def test_what_is_not_a_time(text: str) -> None:
    with pytest.raises(ValueError, match="is not a time"):
        Instant.parse(text)


def test_a_naive_moment_is_refused() -> None:
    with pytest.raises(ValueError, match="offset"):
        Instant.of(datetime(2026, 12, 1))  # noqa: DTZ001 - the naive moment is the point
    assert instant(None) is None
    assert instant(datetime(2026, 12, 1, tzinfo=UTC)) == Instant.parse(TIME)


# -- completions are never refused for their payload ---------------------------------------------------


REPORTS: list[tuple[str, bytes]] = [
    ("output", b'"\\ud800"'),
    ("output", b'"\\u0000"'),
    ("output", b'"\xff"'),
    ("output", b"[" * 5000 + b"]" * 5000),
    ("output", b'"' + b"x" * 70_000 + b'"'),
    ("error", b'{"code":"c","message":"\\ud800\\u0000"}'),
    ("error", b'{"code":"c","message":"\xff"}'),
    ("error", b'"just text"'),
    ("error", b"[1, 2]"),
    ("error", b'{"code":7}'),
    ("error", b"[" * 5000 + b"]" * 5000),
    ("log", b'{"bytes":-1}'),
    ("log", b'"no"'),
    ("log", b'{"bytes":1,"tail":"\\u0000\\udc00"}'),
]


@pytest.mark.parametrize(
    ("message", "field", "raw"),
    [(Complete, *report) for report in REPORTS]
    + [(StartFailure, *report) for report in REPORTS if report[0] == "error"],
)
def test_a_report_is_read_whatever_the_program_said(message: type[Request], field: str, raw: bytes) -> None:
    body = json.dumps({**BODIES[message], field: 0}).encode()
    decoded = codec.decode(body.replace(f'"{field}": 0'.encode(), f'"{field}": '.encode() + raw), message)
    codec.content_digest(decoded)
    if isinstance(decoded, Complete):
        payload = completion_payload(decoded)
        assert (field == "output") is (payload.output_flag is not None)
        texts = [payload.error and payload.error.message, payload.log and payload.log.tail]
        assert not any(text and "\0" in text for text in texts)


def test_the_error_is_repaired() -> None:
    body = {**BODIES[Complete], "error": {"code": "c" * 65, "message": "a\0b\ud800"}}
    error = completion_payload(read(Complete, body)).error
    assert error is not None
    assert error.code == "c" * 63 + "…"
    assert error.message == "a\ufffdb\ufffd"
    odd = completion_payload(read(Complete, {**BODIES[Complete], "error": "just text"})).error
    assert odd is not None
    assert (odd.code, odd.message) == ("unreadable_error", '"just text"')


def test_a_good_payload_is_kept() -> None:
    payload = completion_payload(read(Complete, BODIES[Complete]))
    assert payload.output == '{"rows": [1.5]}'
    assert payload.error is None
    assert payload.log is not None
    assert (payload.log.bytes, payload.log.sha256) == (3, TOKEN)


# -- replay --------------------------------------------------------------------------------------------


def test_the_content_digest_ignores_what_differs_between_two_sendings() -> None:
    first = codec.content_digest(read(Complete, BODIES[Complete]))
    again = {
        **BODIES[Complete],
        "request_id": OTHER,
        "generation": 4,
        "lease": {**FENCE, "lease_version": 5},
        "started_at": "2026-12-01T01:00:00+01:00",
    }
    assert codec.content_digest(read(Complete, dict(reversed(again.items())))) == first


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("outcome", "failed"),
        ("exit_code", 1),
        ("finished_at", "2026-12-01T00:00:00.000001Z"),
        ("output", {"rows": [2]}),
        ("error", {"code": "c", "message": "m"}),
        ("log", None),
        ("stop_answer", "stopped"),
        ("lease", {**FENCE, "lease_generation": 2}),
    ],
)
def test_the_content_digest_sees_every_fact(field: str, value: Any) -> None:
    first = codec.content_digest(read(Complete, BODIES[Complete]))
    assert codec.content_digest(read(Complete, {**BODIES[Complete], field: value})) != first


def test_calls_of_equal_shape_have_different_digests() -> None:
    assert codec.content_digest(read(Drain, SESSION)) != codec.content_digest(read(Offline, SESSION))


# -- exchange ------------------------------------------------------------------------------------------


def test_an_exchange_reads_each_item_alone() -> None:
    complete = {key: value for key, value in BODIES[Complete].items() if key != "generation"}
    items = [
        {"call": "renew", "request_id": ID, "leases": [FENCE]},
        {"call": "dance", "request_id": ID},
        {"call": "starting", "request_id": ID, "lease": FENCE, "generation": 1},
        {"call": "complete", **complete},
        {"call": "offers", "request_id": ID, "offers": [{"offer": ID, "token": TOKEN}], "wait_s": 1},
    ]
    renew, dance, starting, completed, pull = read_items(read(Exchange, {"generation": 7, "items": items}))
    assert renew == read(Renew, {**BODIES[Renew], "generation": 7})
    assert isinstance(dance, Refusal)
    assert "`$.items[1].call`" in dance.detail
    assert isinstance(starting, Refusal)
    assert starting.code == "unknown_field"
    assert isinstance(completed, Complete)
    assert codec.content_digest(completed) == codec.content_digest(read(Complete, BODIES[Complete]))
    assert isinstance(pull, Refusal)


def test_an_exchange_has_256_leases_at_most() -> None:
    items = [{"call": "renew", "request_id": ID, "leases": part} for part in (FENCES[:200], FENCES[200:])]
    with pytest.raises(Refusal, match="257 leases"):
        read_items(read(Exchange, {"generation": 1, "items": items}))


# -- answers and secrets -------------------------------------------------------------------------------


def test_answers_show_every_field_and_tolerate_new_ones() -> None:
    now = Instant.parse(TIME)
    written = json.loads(codec.encode(Pulled(none="no_work", retry_after_s=0.7, server_time=now)))
    assert written == {
        "offered": [],
        "settled": [],
        "none": "no_work",
        "drain_requested": False,
        "retry_after_s": 0.7,
        "server_time": TIME,
    }
    body = json.dumps({"leases": [], "renew_s": 10, "server_time": TIME, "added_later": 1}).encode()
    assert codec.decode(body, Renewed).server_time == now


def test_every_message_has_a_schema() -> None:
    references, components = codec.schemas([*BODIES, Pulled, Renewed])
    assert references[0] == {"$ref": "#/components/schemas/Register"}
    assert components["Register"]["additionalProperties"] is False
    assert components["Running"]["properties"]["started_at"] == {"type": "string", "format": "date-time"}
    assert json.dumps(components)


def test_messages_do_not_show_tokens() -> None:
    fence = msgspec.convert(FENCE, Fence, dec_hook=lambda kind, value: value)
    assert TOKEN not in repr(fence)
    assert TOKEN not in repr(read(Pull, BODIES[Pull]))
    assert TOKEN not in repr(read(Attest, BODIES[Attest]))


def test_the_request_id_is_found_in_a_body_that_is_wrong_elsewhere() -> None:
    known = uuid4()
    assert codec.request_id_of(json.dumps({"request_id": str(known), "x": 1}).encode()) == known
    for body in (b"", b"[]", b'{"request_id": 7}', b"[" * 100_000, b'{"request_id":"\xff"}'):
        assert codec.request_id_of(body) is None


def test_a_stored_plan_round_trips_and_is_shown_in_seconds() -> None:
    stored = StoredPlan(
        executor="command",
        argv=("a", "b"),
        env={"B": "1", "A": "2"},
        timeout_us=30_000_000,
        kill_grace_us=500_000,
        stop_on_lost_contact_us=300_000_000,
        secrets=("s",),
    )
    text = encode_plan(stored)
    assert decode_plan(text) == stored
    assert encode_plan(decode_plan(text)) == text
    plan = json.loads(codec.encode(plan_of(stored)))
    assert (plan["timeout_s"], plan["kill_grace_s"], plan["stop_on_lost_contact_s"]) == (30.0, 0.5, 300.0)
    assert {"executor", "argv", "env", "cwd", "stdin", "handler", "arguments", "log_limit_bytes"} <= set(plan)
