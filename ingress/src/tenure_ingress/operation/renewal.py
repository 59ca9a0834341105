"""Renewal, through its lane."""

from __future__ import annotations

from tenure_contracts.wire.field import Instant, instant
from tenure_contracts.wire.lease import Fence, Renew, Renewed, RenewedLease
from tenure_ingress.operation.activation import stop_of
from tenure_ingress.operation.service import Service, check
from tenure_ingress.repository.caller import Caller
from tenure_ingress.repository.renewal import Renewal
from tenure_ingress.repository.row import RenewalRow
from tenure_postgres.lane import StillLocked


async def renew(service: Service, caller: Caller, message: Renew) -> Renewed:
    """Extend the authority over each lease; one that stays locked for a second is answered `retry`."""
    renewal = await _settle(service, Renewal(caller, message.leases))
    rows = [renewal.seen[position] for position in range(len(message.leases))]
    for row in rows:
        check(row)
    return Renewed(
        leases=tuple(_lease(fence, row) for fence, row in zip(message.leases, rows, strict=True)),
        renew_s=service.renew_s(),
        drain_requested=any(row["drain_requested"] for row in rows),
        server_time=Instant.of(max(row["server_time"] for row in rows)),
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


def _lease(fence: Fence, row: RenewalRow) -> RenewedLease:
    if row["locked"]:
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
