"""Calls that the interface has and this version does not."""

from __future__ import annotations

from functools import partial

from tenure_contracts.error import Refusal
from tenure_control.operator.gate import demand
from tenure_control.operator.surface import Surface
from tenure_control.repository.access.caller import identify
from tenure_http import Request, Response


async def refuse(surface: Surface, request: Request) -> Response:
    """501 `not_available`, for those who have a token."""
    await surface.database.fetch(partial(identify, token=demand(request, "viewer").token))
    raise Refusal("not_available", f"{request.method} {request.path} is not available yet.")
