"""Renewal for a lane: the leases of many requests in one statement, and a verdict for each of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import cast

from tenure_contracts.identity import lease_token_digest
from tenure_contracts.wire.lease import Fence
from tenure_ingress.repository.call import QUERIES
from tenure_ingress.repository.caller import Caller
from tenure_ingress.repository.row import RenewalRow
from tenure_postgres.database import Connection
from tenure_postgres.lane import Locked


@dataclass(frozen=True, slots=True)
class Renewal:
    """The leases of one request, and what is known of them so far, in their order.

    `rows` is empty before the first call, and has then the newest row of each lease, which is a verdict
    unless it says `locked`; None for one that the database failed at.
    """

    caller: Caller
    fences: Sequence[Fence]
    rows: Sequence[RenewalRow | None] = ()

    @property
    def open_fences(self) -> Sequence[Fence]:
        """Those without a verdict."""
        if not self.rows:
            return self.fences
        return [fence for fence, row in zip(self.fences, self.rows, strict=True) if _is_open(row)]

    def after(self, news: Iterator[RenewalRow]) -> Renewal | Locked[Renewal]:
        """What a call makes of it: `news` are the rows of the open fences, some may stay open."""
        rows = [next(news) if _is_open(row) else row for row in self.rows] or list(news)
        known = replace(self, rows=rows)
        return Locked(known) if any(map(_is_open, rows)) else known


def _is_open(row: RenewalRow | None) -> bool:
    return row is None or row["locked"]


async def renew(
    connection: Connection, renewals: Sequence[Renewal], lease_s: float
) -> Sequence[Renewal | Locked[Renewal]]:
    """Renew what can be renewed. A request with a lease that is locked elsewhere is to be tried again."""
    asked = [renewal.open_fences for renewal in renewals]
    callers = zip(*[renewal.caller.columns for renewal in renewals], strict=True)
    rows = await connection.fetch(QUERIES["renew"], *map(list, callers), *_columns(asked), lease_s)
    news = iter(cast("Sequence[RenewalRow]", rows))
    return [renewal.after(islice(news, len(fences))) for renewal, fences in zip(renewals, asked, strict=True)]


def _columns(asked: Sequence[Sequence[Fence]]) -> tuple[list[object], ...]:
    """The number of its request, counted from 1, and the fence itself, of every lease."""
    fences = [fence for each in asked for fence in each]
    return (
        [number for number, each in enumerate(asked, 1) for _ in each],
        [fence.attempt for fence in fences],
        [fence.offer for fence in fences],
        [lease_token_digest(fence.token) for fence in fences],
        [fence.lease_generation for fence in fences],
        [fence.lease_version for fence in fences],
    )
