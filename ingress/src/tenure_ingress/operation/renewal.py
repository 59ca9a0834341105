"""Renewal, through its lane."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import structlog

from tenure_contracts.wire.field import Instant, instants
from tenure_contracts.wire.lease import Fence, Renew, Renewed, RenewedLease
from tenure_ingress.operation.activation import stop_of
from tenure_ingress.operation.service import Service, check
from tenure_ingress.repository.caller import Caller
from tenure_ingress.repository.renewal import Renewal
from tenure_ingress.repository.row import RenewalRow
from tenure_postgres.error import Busy, DatabaseError, Misconfigured, OutcomeUnknown, Unavailable
from tenure_postgres.lane import StillLocked

log = structlog.get_logger("tenure.ingress")

PASSING: Final = (Busy, Unavailable, OutcomeUnknown, Misconfigured)
"""Errors that no lease is to blame for."""


async def renew(service: Service, caller: Caller, message: Renew) -> Renewed:
    """Extend the authority over each lease.

    One that stays locked for a second, or that the database fails at, is answered `retry`; all others do not
    notice. Raises what the database raised when it failed at every one.
    """
    rows = (await _settle(service, Renewal(caller, message.leases))).rows
    known = [row for row in rows if row is not None]
    for row in known:
        check(row)
    ends = instants(row and row["expires_at"] for row in rows)
    return Renewed(
        leases=tuple(map(_lease, message.leases, rows, ends)),
        renew_s=service.renew_s(),
        drain_requested=any(row["drain_requested"] for row in known),
        server_time=Instant.of(max(row["server_time"] for row in known)),
    )


async def _settle(service: Service, renewal: Renewal) -> Renewal:
    keys = [fence.attempt.int for fence in renewal.fences]  # as numbers: an id is hashed in Python
    content = (renewal.caller, renewal.fences)
    try:
        return await service.lanes.renewals.submit(renewal, keys=keys, content=content, weight=len(keys))
    except StillLocked as locked:
        if not isinstance(locked.rest, Renewal):
            raise
        return locked.rest
    except PASSING:
        raise
    except DatabaseError as fault:
        return await _settle_apart(service, renewal, fault)


async def _settle_apart(service: Service, renewal: Renewal, fault: DatabaseError) -> Renewal:
    """Halve the request until the lease that is at fault stands alone. Its row is None."""
    middle = len(renewal.fences) // 2
    if not middle:
        log.error("lease_failed", attempt=str(renewal.fences[0].attempt), exc_info=fault)
        raise fault
    rows: list[RenewalRow | None] = []
    for fences in (renewal.fences[:middle], renewal.fences[middle:]):
        rows += await _rows(service, Renewal(renewal.caller, fences))
    if not any(rows):
        raise fault
    return replace(renewal, rows=rows)


async def _rows(service: Service, part: Renewal) -> Sequence[RenewalRow | None]:
    try:
        return (await _settle(service, part)).rows
    except PASSING:
        raise
    except DatabaseError:
        return [None] * len(part.fences)


def _lease(fence: Fence, row: RenewalRow | None, expires_at: Instant | None) -> RenewedLease:
    if row is None or row["locked"]:
        return RenewedLease(attempt=fence.attempt, status="retry", disposition="retry")
    return RenewedLease(
        attempt=fence.attempt,
        status=row["status"],
        lease_version=row["lease_version"],
        expires_at=expires_at,
        late=row["late"],
        stop=stop_of(row),
        terminal=row["terminal"],
        disposition=row["disposition"],
    )
