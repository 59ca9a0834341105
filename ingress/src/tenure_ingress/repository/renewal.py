"""Renewal for a lane: the leases of many requests in one statement, and a verdict for each of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import cast

from tenure_contracts.wire.lease import Fence
from tenure_ingress.repository.call import QUERIES
from tenure_ingress.repository.caller import Caller, fence_columns
from tenure_ingress.repository.row import RenewalRow
from tenure_postgres.database import Connection
from tenure_postgres.lane import Locked


@dataclass(frozen=True, slots=True)
class Renewal:
    """The leases of one request, and what is known of them so far, by their position in it.

    `seen` has the newest row of each, which is a verdict unless it says `locked`.
    """

    caller: Caller
    fences: Sequence[Fence]
    seen: Mapping[int, RenewalRow] = field(default_factory=dict)

    @property
    def open_positions(self) -> list[int]:
        """Which fences have no verdict yet."""
        return [at for at in range(len(self.fences)) if at not in self.seen or self.seen[at]["locked"]]


async def renew(
    connection: Connection, renewals: Sequence[Renewal], lease_s: float
) -> Sequence[Renewal | Locked[Renewal]]:
    """Renew what can be renewed. A request with a lease that is locked elsewhere is to be tried again."""
    requests = [list(column) for column in zip(*(r.caller.columns for r in renewals), strict=True)]
    items = [(number, position) for number, r in enumerate(renewals) for position in r.open_positions]
    fences = zip(
        *(fence_columns(renewals[number].fences[position]) for number, position in items), strict=True
    )
    rows = await connection.fetch(
        QUERIES["renew"], *requests, [number + 1 for number, _ in items], *map(list, fences), lease_s
    )
    found: list[dict[int, RenewalRow]] = [{} for _ in renewals]
    for (number, position), row in zip(items, cast("Sequence[RenewalRow]", rows), strict=True):
        found[number][position] = row
    return [_verdict(renewal, news) for renewal, news in zip(renewals, found, strict=True)]


def _verdict(renewal: Renewal, news: Mapping[int, RenewalRow]) -> Renewal | Locked[Renewal]:
    known = replace(renewal, seen={**renewal.seen, **news})
    return Locked(known) if known.open_positions else known
