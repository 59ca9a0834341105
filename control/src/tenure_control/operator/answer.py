"""Answers of the operator API."""

from __future__ import annotations

from typing import Any

from tenure_contracts.wire.codec import encode
from tenure_http import Response


def answer(message: Any, status: int = 200, *headers: tuple[str, str]) -> Response:
    """A message of the contracts as a response."""
    return Response(status, encode(message), headers=headers)
