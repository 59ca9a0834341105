"""Renewal for a lane: the leases of many requests in one statement, and one list of verdicts per request."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tenure_contracts.wire.lease import Fence
from tenure_ingress.repository.call import QUERIES
from tenure_ingress.repository.caller import Caller, fence_columns
from tenure_postgres.database import Connection, Row
from tenure_postgres.lane import Locked


@dataclass(frozen=True, slots=True)
class Renewal:
    """The leases of one request; `done` has the rows of those that an earlier call settled, by position."""

    caller: Caller
    fences: Sequence[Fence]
    done: tuple[tuple[int, Row], ...] = ()

    @property
    def open_positions(self) -> list[int]:
        """Which fences are not settled yet."""
        settled = {position for position, _ in self.done}
        return [position for position in range(len(self.fences)) if position not in settled]


async def renew(
    connection: Connection, renewals: Sequence[Renewal], lease_s: float
) -> Sequence[list[Row | None] | Locked[Renewal]]:
    """Renew what can be renewed. A request with a lease that is locked elsewhere is to be tried again."""
    requests = [list(column) for column in zip(*(r.caller.columns for r in renewals), strict=True)]
    items = [(number, position) for number, r in enumerate(renewals) for position in r.open_positions]
    fences = zip(
        *(fence_columns(renewals[number].fences[position]) for number, position in items), strict=True
    )
    rows = await connection.fetch(
        QUERIES["renew"], *requests, [number + 1 for number, _ in items], *map(list, fences), lease_s
    )
    verdicts: list[list[tuple[int, Row]]] = [[] for _ in renewals]
    for (number, position), row in zip(items, rows, strict=True):
        verdicts[number].append((position, row))
    return [_verdict(renewal, found) for renewal, found in zip(renewals, verdicts, strict=True)]


def _verdict(renewal: Renewal, found: Sequence[tuple[int, Row]]) -> list[Row | None] | Locked[Renewal]:
    done = renewal.done + tuple((position, row) for position, row in found if not row["locked"])
    if len(done) < len(renewal.fences):
        return Locked(replace(renewal, done=done))
    return outcome(replace(renewal, done=done))


def outcome(renewal: Renewal) -> list[Row | None]:
    """The rows in the order of the request; None where the lease stayed locked."""
    rows: list[Row | None] = [None] * len(renewal.fences)
    for position, row in renewal.done:
        rows[position] = row
    return rows
