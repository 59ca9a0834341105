"""What schemathesis is told by this project; it loads this file by its path, in a process of its own.

Generated ids exist nowhere, so most calls would end as `session_fenced`. Here valid ids are replaced by those
of sessions and leases that exist, and nothing else: what was generated as wrong stays wrong.
"""

from __future__ import annotations

import json
import os
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final
from uuid import UUID

import schemathesis

SEEDED: Final = json.loads(os.environ["TENURE_SEEDED"])
"""What `Seeded` of `running` says."""

SEEN: Final = Path(os.environ["TENURE_SEEN"])
"""One line for each answer: call, status, code."""

TOKEN: Final = re.compile("[A-Za-z0-9_-]{43}")

RULES: Final = (
    "names an attempt twice",
    "names an offer twice",
    "uses a token twice",
    "belongs to the state `stopped` only",
    "leases in one exchange",
    "is greater than the version",
    "is not a time that exists",
    ", got `float`",  # 1.0 is an integer to schemas
)
"""Why a documented body may be refused: what a schema cannot say, in the words of the messages."""

WRONG: Final = ("", f"Bearer tw1_unknown00_{'A' * 43}", "Bearer tw1", "Basic dTpw")
"""What one of five requests says about its sender; the first is no header at all."""

BEFORE_CREDENTIAL: Final = {"unknown_route", "method_not_allowed", "malformed_request", "too_many_failures"}
"""What is refused before anybody asks who it is."""


@schemathesis.hook
def before_call(context: Any, case: Any, kwargs: Any) -> None:
    """Make a generated request one of a worker that exists."""
    choice = zlib.crc32(json.dumps(case.body, sort_keys=True, default=str).encode())
    sessions = SEEDED["sessions"]
    session = _chosen(sessions.get(_name(case), sessions["*"]), choice)
    _authorize(case, _chosen(WRONG, choice // 5) if choice % 5 == 0 else f"Bearer {session['token']}")
    if _is_uuid((case.path_parameters or {}).get("session")):
        case.path_parameters["session"] = session["session"]
    if isinstance(case.body, dict) and _is_within(case.body.get("generation")):
        case.body["generation"] = session["generation"]
    for number, part in enumerate(_objects(case.body)):
        _make_real(part, choice // 25 + number)


@schemathesis.check
def answers_are_the_promised_ones(ctx: Any, response: Any, case: Any) -> None:
    """5xx is 503, or 501 of what is not offered; a documented body is not refused for its form."""
    problem = response.json() if response.status_code >= 400 and response.content else {}
    with SEEN.open("a") as seen:
        seen.write(json.dumps([_name(case), response.status_code, problem.get("code")]) + "\n")
    _check_fault(response.status_code, _name(case) in {"secrets", "logs"})
    if case.meta and case.meta.generation.mode.is_positive and response.status_code == 400:
        assert any(rule in problem["detail"] for rule in RULES), f"documented, but refused: {problem}"
    if _name(case) == "exchange" and response.status_code == 200:
        for item in response.json()["items"]:
            _check_fault(item["status"], item.get("problem", {}).get("code") == "not_available")


@schemathesis.check
def nobody_is_served_without_a_credential(ctx: Any, response: Any, case: Any) -> None:
    """Without a token nothing is said, and with a wrong one nothing is done."""
    authorization = response.request.headers.get("Authorization", "")
    if authorization in WRONG:
        assert response.status_code != 200
    if not authorization:
        assert response.json()["code"] in {*BEFORE_CREDENTIAL, "credential_required"}, response.text


def _name(case: Any) -> str:
    return str(case.operation.definition.raw["operationId"])


def _authorize(case: Any, authorization: str) -> None:
    headers = {name: value for name, value in (case.headers or {}).items() if name.lower() != "authorization"}
    case.headers = {**headers, "Authorization": authorization} if authorization else headers


def _check_fault(status: int, is_absent: bool) -> None:
    assert status < 500 or status == 503 or (status == 501 and is_absent), f"the server failed with {status}"


def _chosen(values: Any, choice: int) -> Any:
    return values[choice % len(values)]


def _objects(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
    for part in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _objects(part)


def _make_real(part: dict[str, Any], choice: int) -> None:
    """Let one of five objects be about an attempt that nobody knows, and do not wait for work."""
    wait_s = part.get("wait_s")
    if isinstance(wait_s, float | int) and not isinstance(wait_s, bool) and 0 <= wait_s <= 30:
        part["wait_s"] = 0
    if "attempt" not in part or choice % 5 == 0:
        return
    fence = _chosen(SEEDED["leases"], choice)
    for name in ("attempt", "offer"):
        if _is_uuid(part.get(name)):
            part[name] = fence[name]
    if isinstance(part.get("token"), str) and TOKEN.fullmatch(part["token"]):
        part["token"] = fence["token"]
    for name, value in (("lease_generation", 1), ("lease_version", 1), ("sequence", 1 + choice % 2)):
        if _is_within(part.get(name)):
            part[name] = value


def _is_within(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value < 2**31


def _is_uuid(value: Any) -> bool:
    try:
        return isinstance(value, str) and str(UUID(value)) == value
    except ValueError:
        return False
