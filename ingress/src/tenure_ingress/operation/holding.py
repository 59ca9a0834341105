"""What a session holds, for a worker whose journal is damaged."""

from __future__ import annotations

from tenure_contracts.wire.field import Instant
from tenure_contracts.wire.lease import HeldLease, HeldLeases, ListLeases
from tenure_ingress.operation.activation import stop_of
from tenure_ingress.operation.service import Service, check
from tenure_ingress.repository import call
from tenure_ingress.repository.caller import Caller
from tenure_ingress.repository.row import HeldLeaseRow


async def leases(service: Service, caller: Caller, message: ListLeases) -> HeldLeases:
    """Every lease of the session, expired or not, oldest first; without tokens, which nobody here knows."""
    summary, *held = await service.rows(call.held_leases(caller))
    check(summary)
    return HeldLeases(leases=tuple(map(_lease, held)))


def _lease(row: HeldLeaseRow) -> HeldLease:
    return HeldLease(
        attempt=row["attempt"],
        run=row["run"],
        offer=row["offer"],
        lease_generation=row["lease_generation"],
        lease_version=row["lease_version"],
        status=row["status"],
        expires_at=Instant.of(row["expires_at"]),
        stop=stop_of(row),
    )
