"""Pulling: ask for as much work as there are free slots, with offers that are in the journal first."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable
from functools import partial
from uuid import UUID

import anyio
import structlog
import uuid6

from tenure_contracts import bounds
from tenure_contracts.identity import encode_secret
from tenure_contracts.wire.offer import Offer, Offered, Pull, Pulled
from tenure_worker.attempt import give_back
from tenure_worker.board import Held
from tenure_worker.client import Refused, backoff_s
from tenure_worker.journal import Lease, Record
from tenure_worker.session import Session, new_request_id, on_disk

log = structlog.get_logger("tenure.worker")

IDLE_PAUSE_S = 1.0
FULL_LOOK_S = 30.0

Start = Callable[[Record, Offered], None]


class Offers:
    """The offers that are not spent: some were asked and not answered, the others wait for the next pull.

    An offer that was not answered stays usable, so an idle worker writes its journal once and then only asks.
    """

    def __init__(self, session: Session, unspent: Iterable[Record]) -> None:
        self._session = session
        self._unspent: dict[UUID, Record] = {record.offer: record for record in unspent}
        self._asked: list[Record] = []

    async def pull_forever(self, start: Start) -> None:
        """Pull while there are free slots, until cancelled; `start` is called for each attempt that came."""
        faults = 0
        while True:
            try:
                await anyio.sleep(await self._pull(start))
                faults = 0
            except (Refused, OSError) as error:
                self._note_fault(error)
                await anyio.sleep(IDLE_PAUSE_S + backoff_s(faults))
                faults += 1

    async def withdraw(self) -> None:
        """Give back what a pull that was in flight may have brought, and forget all offers.

        The pull is asked again once, without waiting. What stays unanswered stays in the journal, also when
        this is cancelled or the session has ended: the next process asks about it.
        """
        if self._asked:
            try:
                answer = await self._ask(wait_s=0.0)
            except Refused as refusal:
                self._note_fault(refusal)
                return
            taken = [self._held(offered) for offered in answer.offered if offered.spawn]
            if taken:
                await give_back(self._session, taken, "shutdown")
            self._asked = []
        for offer in list(self._unspent):
            await self._forget(offer)

    async def _pull(self, start: Start) -> float:
        """One pull; returns the seconds to wait before the next one."""
        board = self._session.board
        if board.free_slots == 0:
            await board.slot_freed.wait(FULL_LOOK_S)
            return 0.0
        self._asked = await self._reserve(min(board.free_slots, bounds.OFFERS_PER_PULL))
        answer = await self._ask(wait_s=self._session.settings.wait_s)
        self._asked = []
        for offered in answer.offered:
            self._take(offered, start)
        for offer in answer.settled:
            await self._forget(offer)
        self._session.note_drain(answer.drain_requested)
        return _pause_s(answer)

    async def _reserve(self, count: int) -> list[Record]:
        for _ in range(count - len(self._unspent)):
            token = encode_secret(secrets.token_bytes(32))
            record = Record(state="offered", offer=uuid6.uuid7(), token=token)
            await on_disk(partial(self._session.journal.write, record))
            self._unspent[record.offer] = record
        return list(self._unspent.values())[:count]

    async def _ask(self, *, wait_s: float) -> Pulled:
        message = Pull(
            request_id=new_request_id(),
            generation=self._session.generation,
            offers=tuple(Offer(offer=record.offer, token=record.token) for record in self._asked),
            wait_s=wait_s,
        )
        timeout_s = wait_s + self._session.settings.answer_timeout_s
        return await self._session.client.insist("offers", message, Pulled, timeout_s=timeout_s)

    def _take(self, offered: Offered, start: Start) -> None:
        record = self._unspent.pop(offered.offer, None)
        if record is None:
            log.error("offer_unknown", offer=str(offered.offer))
        elif offered.spawn:
            start(record, offered)
        else:
            # The journal knows of no start, the ingress does: another copy of this journal may be running it.
            log.error("offer_started_elsewhere", attempt=str(offered.attempt.attempt))

    async def _forget(self, offer: UUID) -> None:
        self._unspent.pop(offer, None)
        await self._session.forget(offer)

    def _held(self, offered: Offered) -> Held:
        lease = Lease(
            attempt=offered.attempt.attempt,
            lease_generation=offered.lease.lease_generation,
            lease_version=offered.lease.lease_version,
        )
        return Held(offered.offer, self._unspent[offered.offer].token, lease)

    def _note_fault(self, error: Refused | OSError) -> None:
        if isinstance(error, Refused):
            self._session.note_refusal(error)
        log.error("pull_failed", reason=str(error))


def _pause_s(answer: Pulled) -> float:
    if answer.retry_after_s is not None:
        return max(0.0, answer.retry_after_s)
    return 0.0 if answer.offered else IDLE_PAUSE_S
