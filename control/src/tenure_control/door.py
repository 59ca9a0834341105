"""What the operator listener lets in: probes always, the operator API while an incarnation serves it."""

from __future__ import annotations

from collections.abc import Iterable

from tenure_contracts.error import Refusal
from tenure_http import Head, Match, Route, Router


class Door:
    """The routes behind the probes. They change with each incarnation, the listener does not."""

    def __init__(self) -> None:
        self._router: Router | None = None

    def open(self, routes: Iterable[Route]) -> None:
        """From now on these routes."""
        self._router = Router(routes)

    def close(self) -> None:
        """From now on none."""
        self._router = None

    def __call__(self, head: Head) -> Match:
        """The route of a request. Raises Refusal."""
        if self._router is None:
            raise Refusal("starting")
        return self._router(head)
