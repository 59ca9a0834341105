"""Offers: pulling work, and giving unstarted work back."""

from __future__ import annotations

import random
from typing import Final

import msgspec

from tenure_contracts import base64url
from tenure_contracts.plan import decode_plan
from tenure_contracts.wire.field import Instant, instant
from tenure_contracts.wire.offer import (
    Decline,
    Declined,
    DeclinedLease,
    Offered,
    OfferedAttempt,
    OfferedLease,
    Pull,
    Pulled,
    plan_of,
)
from tenure_ingress.operation.service import Service, check
from tenure_ingress.repository import call
from tenure_ingress.repository.caller import Caller
from tenure_ingress.repository.row import OfferRow

RETRY_AFTER_S: Final = 1.0
"""When a pull that brought nothing is worth repeating, on average."""


async def pull(service: Service, caller: Caller, message: Pull) -> Pulled:
    """Claim work for fresh offers, and rebuild those that were answered before."""
    summary, *answers = await service.rows(call.claim_offers(caller, message, service.settings.lease_s))
    check(summary)
    offered = tuple(_offered(row) for row in answers if row["outcome"] != "settled")
    return Pulled(
        offered=offered,
        settled=tuple(row["offer"] for row in answers if row["outcome"] == "settled"),
        none=summary["none_reason"],
        drain_requested=summary["drain_requested"],
        retry_after_s=None if offered else _retry_after_s(),
        server_time=Instant.of(summary["server_time"]),
    )


async def decline(service: Service, caller: Caller, message: Decline) -> Declined:
    """Put unstarted work back into the queue, for others at once."""
    summary, *leases = await service.rows(call.decline(caller, message))
    check(summary)
    service.work_returned()
    return Declined(
        leases=tuple(DeclinedLease(attempt=row["attempt"], status=row["status"]) for row in leases)
    )


def _retry_after_s() -> float:
    return round(RETRY_AFTER_S * random.uniform(0.5, 1.5), 3)  # noqa: S311 - jitter, not a secret


def _offered(row: OfferRow) -> Offered:
    return Offered(
        offer=row["offer"],
        recovered=row["outcome"] == "recovered",
        spawn=row["spawn"],
        attempt=_attempt(row),
        lease=OfferedLease(
            lease_generation=row["lease_generation"],
            lease_version=row["lease_version"],
            acquired_at=Instant.of(row["acquired_at"]),
            expires_at=Instant.of(row["expires_at"]),
        ),
        plan=plan_of(decode_plan(row["plan"])),
        input=msgspec.Raw(row["input"].encode()),
    )


def _attempt(row: OfferRow) -> OfferedAttempt:
    return OfferedAttempt(
        attempt=row["attempt"],
        run=row["run"],
        project=row["project"],
        task=row["task"],
        revision=row["revision"],
        digest=base64url.encode(row["digest"]),
        number=row["number"],
        try_=row["try"],
        step=row["step"],
        priority=row["priority"],
        status=row["attempt_status"],
        deadline_at=instant(row["deadline_at"]),
    )
