"""What the scheduler cadence of this replica did lately."""

from __future__ import annotations

from tenure_contracts.operator.page import Page
from tenure_control.operator.answer import answer
from tenure_control.operator.gate import check, demand
from tenure_control.operator.surface import Surface
from tenure_http import Request, Response


async def show(surface: Surface, request: Request) -> Response:
    """The last cycles, newest first."""
    await check(surface, demand(request, "viewer"))
    return answer(Page(items=list(surface.cycles())))
