"""Offers: pulling work, and giving unstarted work back."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import timedelta
from typing import Final, TypeAlias

import msgspec
import trio

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
from tenure_ingress.place import Knowledge, Place
from tenure_ingress.repository import call
from tenure_ingress.repository.caller import Caller
from tenure_ingress.repository.row import OfferRow
from tenure_ingress.waiting import Room

Waiting: TypeAlias = Callable[[], AbstractAsyncContextManager[None]]
"""What a request does around a wait that may be long: `Request.waiting`."""

RETRY_AFTER_S: Final = 1.0
"""When a pull that brought nothing is worth repeating, on average."""

WAITED_RETRY_S: Final = 0.1
"""The same after a wait, which has made the pause already."""

CLOSED_RETRY_S: Final = 0.5
"""The same when this process ends and with it all waits at once: they spread over the other replicas."""

LOOK_ANSWER_S: Final = 2.0

WAITS: Final = ("no_work", "no_match")
"""Why a pull came to nothing that another moment may change. The other reasons are the worker's own."""


@dataclass(frozen=True, slots=True)
class _Claim:
    """What a claim brought, and when, as this process counts time."""

    summary: OfferRow
    answers: Sequence[OfferRow]
    at: float

    @property
    def is_empty(self) -> bool:
        """Nothing came, and something may."""
        return self.summary["none_reason"] in WAITS and not self.answers

    @property
    def knowledge(self) -> Knowledge:
        """What its session waits for."""
        return Knowledge(frozenset(self.summary["classes"]), self.summary["classes_seen"])


async def pull(service: Service, caller: Caller, message: Pull) -> Pulled:
    """Claim work for fresh offers, and rebuild those that were answered before. Never waits."""
    return _pulled(await _claim(service, caller, message), RETRY_AFTER_S)


async def pull_or_wait(
    service: Service,
    caller: Caller,
    message: Pull,
    waiting: Waiting,
) -> Pulled:
    """The same; but when nothing came wait for something, at most `wait_s` from now, inside `waiting()`.

    The wait costs no statement, and neither does an end of it without work: it answers what the last claim
    said. Only waits are inside `waiting()`: a claim that was begun is not broken off because its peer left.
    """
    room, deadline = service.room, trio.current_time() + message.wait_s
    news = room.news
    claim = await _claim(service, caller, message)
    if not claim.is_empty or not message.wait_s:
        return _pulled(claim, RETRY_AFTER_S)
    with room.place(caller.session, claim.knowledge, news) as place:
        while await _is_called(place, waiting, deadline):
            place.begin_claim()
            claim = await _claim(service, caller, message)
            _note(room, place, claim)
            if not claim.is_empty:
                return _pulled(claim, RETRY_AFTER_S)
    return _pulled(claim, CLOSED_RETRY_S if room.is_closed else WAITED_RETRY_S)


async def look(service: Service, limit: int) -> Mapping[int, int]:
    """How many attempts each placement class has, none counted further than `limit`: what the room asks."""
    rows = await service.lanes.database.fetch(call.dispatchable(limit), deadline_s=LOOK_ANSWER_S)
    return {row["class"]: row["attempts"] for row in rows}


async def _is_called(place: Place, waiting: Waiting, deadline: float) -> bool:
    """Whether it was called before the wait ended. A call that comes with the deadline still counts."""
    async with waiting():
        with trio.move_on_at(deadline):
            await place.wait()
    return place.is_called


def _note(room: Room, place: Place, claim: _Claim) -> None:
    offered = sum(row["outcome"] == "offered" for row in claim.answers)
    if offered:
        room.claimed(place, offered)
    elif claim.is_empty:
        room.failed(place, claim.knowledge)


async def _claim(service: Service, caller: Caller, message: Pull) -> _Claim:
    summary, *answers = await service.rows(call.claim_offers(caller, message, service.settings.lease_s))
    check(summary)
    return _Claim(summary, answers, trio.current_time())


def _pulled(claim: _Claim, retry_after_s: float) -> Pulled:
    offered = tuple(_offered(row) for row in claim.answers if row["outcome"] != "settled")
    # No statement for the time alone: the database's, as it was told, and how long ago that was.
    server_time = claim.summary["server_time"] + timedelta(seconds=trio.current_time() - claim.at)
    return Pulled(
        offered=offered,
        settled=tuple(row["offer"] for row in claim.answers if row["outcome"] == "settled"),
        none=claim.summary["none_reason"],
        drain_requested=claim.summary["drain_requested"],
        retry_after_s=None if offered else _jittered(retry_after_s),
        server_time=Instant.of(server_time),
    )


async def decline(service: Service, caller: Caller, message: Decline) -> Declined:
    """Put unstarted work back into the queue, for others at once."""
    summary, *leases = await service.rows(call.decline(caller, message))
    check(summary)
    service.work_returned()
    return Declined(
        leases=tuple(DeclinedLease(attempt=row["attempt"], status=row["status"]) for row in leases)
    )


def _jittered(seconds: float) -> float:
    return round(seconds * random.uniform(0.5, 1.5), 3)  # noqa: S311 - jitter, not a secret


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
