"""Renewal, through its lane."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import structlog

from tenure_contracts.wire.field import Instant, instant
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
    renewal = await _settle(service, Renewal(caller, message.leases))
    for row in renewal.seen.values():
        check(row)
    return Renewed(
        leases=tuple(_lease(fence, renewal.seen.get(at)) for at, fence in enumerate(message.leases)),
        renew_s=service.renew_s(),
        drain_requested=any(row["drain_requested"] for row in renewal.seen.values()),
        server_time=Instant.of(max(row["server_time"] for row in renewal.seen.values())),
    )


async def _settle(service: Service, renewal: Renewal) -> Renewal:
    keys = [fence.attempt for fence in renewal.fences]
    content = (renewal.caller, tuple(renewal.fences))
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
    """Halve the request until the lease that is at fault stands alone. It is not among what was seen."""
    middle = len(renewal.fences) // 2
    if not middle:
        log.error("lease_failed", attempt=str(renewal.fences[0].attempt), exc_info=fault)
        raise fault
    seen: dict[int, RenewalRow] = {}
    for first, part in ((0, renewal.fences[:middle]), (middle, renewal.fences[middle:])):
        found = await _seen(service, Renewal(renewal.caller, part))
        seen |= {first + at: row for at, row in found.items()}
    if not seen:
        raise fault
    return Renewal(renewal.caller, renewal.fences, seen)


async def _seen(service: Service, part: Renewal) -> Mapping[int, RenewalRow]:
    try:
        return (await _settle(service, part)).seen
    except PASSING:
        raise
    except DatabaseError:
        return {}


def _lease(fence: Fence, row: RenewalRow | None) -> RenewedLease:
    if row is None or row["locked"]:
        return RenewedLease(attempt=fence.attempt, status="retry", disposition="retry")
    return RenewedLease(
        attempt=fence.attempt,
        status=row["status"],
        lease_version=row["lease_version"],
        expires_at=instant(row["expires_at"]),
        late=row["late"],
        stop=stop_of(row),
        terminal=row["terminal"],
        disposition=row["disposition"],
    )
