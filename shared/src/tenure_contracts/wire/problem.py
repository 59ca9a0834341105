"""The problem document (RFC 9457) of any refusal, of both HTTP surfaces."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from msgspec import UNSET, UnsetType

from tenure_contracts.error import Disposition, Refusal
from tenure_contracts.wire.codec import Answer

MEMBERS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "attestation_conflict": ("last_sequence",),
        "method_not_allowed": ("allow",),
        "session_conflict": ("session_age_s", "seen_age_s"),
        "invalid_definition": ("problems",),
    }
)
"""The members that a code has beside those of all."""


class Problem(Answer, frozen=True, kw_only=True):
    """One refusal. The members after `request_id` appear only where a code has them."""

    type: str = "about:blank"
    title: str
    status: int
    code: str
    detail: str
    disposition: Disposition
    request_id: str | None = None
    last_sequence: int | UnsetType = UNSET
    allow: list[str] | UnsetType = UNSET
    session_age_s: float | UnsetType = UNSET
    seen_age_s: float | UnsetType = UNSET
    problems: list[dict[str, Any]] | UnsetType = UNSET


def problem(refusal: Refusal, request_id: object = None) -> Problem:
    """The document of a refusal; encode it with `codec.encode`. `request_id` is echoed as text.

    A member that the document does not know is a TypeError: members are part of the contract.
    """
    return Problem(
        title=refusal.rule.title,
        status=refusal.status,
        code=refusal.code,
        detail=refusal.detail,
        disposition=refusal.disposition,
        request_id=None if request_id is None else str(request_id),
        **dict(refusal.members),  # type: ignore[arg-type]
    )
