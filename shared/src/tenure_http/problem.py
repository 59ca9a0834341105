"""Refusals as RFC 9457 problem documents."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from tenure_contracts.error import Refusal
from tenure_http.message import Response

PROBLEM_JSON: Final = "application/problem+json"

_CHALLENGE: Final = (("WWW-Authenticate", 'Bearer realm="tenure"'),)

# What RFC 9110 wants beside the status.
_HEADERS: Final[Mapping[str, tuple[tuple[str, str], ...]]] = MappingProxyType(
    {
        "credential_required": _CHALLENGE,
        "credential_refused": _CHALLENGE,
        "upgrade_required": (("Connection", "Upgrade"), ("Upgrade", "HTTP/1.1")),
    }
)


def problem(refusal: Refusal, request_id: str) -> Response:
    """The answer to a refused request.

    `request_id` names the request, unless the refusal has a member of that name: the caller's own id, once
    the body was read. `Retry-After` is whole seconds, rounded up.
    """
    document = {"request_id": request_id, **problem_document(refusal)}
    return Response(refusal.status, _encode(document), PROBLEM_JSON, tuple(_headers(refusal)))


def problem_document(refusal: Refusal) -> dict[str, object]:
    """The members of the problem document that do not depend on the request."""
    return {
        "type": "about:blank",
        "title": refusal.rule.title,
        "status": refusal.status,
        "code": refusal.code,
        "detail": refusal.detail,
        "disposition": refusal.disposition,
        **refusal.members,
    }


def _encode(document: Mapping[str, object]) -> bytes:
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"), default=str).encode(
        "utf-8", "replace"
    )


def _headers(refusal: Refusal) -> list[tuple[str, str]]:
    headers = list(_HEADERS.get(refusal.code, ()))
    allow = refusal.members.get("allow")
    if isinstance(allow, list):
        headers.append(("Allow", ", ".join(allow)))
    if refusal.retry_after_s is not None:
        headers.append(("Retry-After", str(_retry_after_s(refusal.retry_after_s, refusal.status))))
    return headers


def _retry_after_s(least_s: float, status: int) -> int:
    # A 503 meets a whole fleet at the same moment. Whole seconds are all that Retry-After can say, so the
    # spread is as wide as the wait; other refusals concern one caller and say the time as it is.
    spread = random.uniform(1.0, 2.0) if status == 503 else 1.0  # noqa: S311 - a spread, not a secret
    return max(1, math.ceil(least_s * spread))
