"""Renewal: the one task that must never wait for anything else.

It has a connection of its own, makes one request for all leases, and judges nothing: what an answer wants of
an attempt is noted on the board, where the attempt's own task finds it.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

import structlog

from tenure_contracts import bounds
from tenure_contracts.wire.lease import Renew, Renewed
from tenure_worker.board import Held
from tenure_worker.client import Refused, Unanswered
from tenure_worker.machine import boot_clock
from tenure_worker.session import Session, new_request_id

log = structlog.get_logger("tenure.worker")

SOON_S = 1.0


async def renew_forever(session: Session) -> None:
    """Renew all leases at the pace the ingress sets, or at once when the board says so, until cancelled."""
    pause_s = session.advice.renew_s
    while True:
        await session.board.renewal_due.wait(pause_s)
        pause_s = await renew_all(session)


async def renew_all(session: Session) -> float:
    """Renew what is held now; returns the seconds until the next renewal is due."""
    held = list(session.board.held.values())
    size = bounds.LEASES_PER_RENEWAL
    batches = [held[start : start + size] for start in range(0, len(held), size)]
    pauses = [await _renew_batch(session, batch) for batch in batches]
    return min(pauses, default=session.advice.renew_s)


async def _renew_batch(session: Session, held: Sequence[Held]) -> float:
    message = Renew(
        request_id=new_request_id(),
        generation=session.generation,
        leases=tuple(item.fence() for item in held),
    )
    pace_s = session.advice.renew_s
    sent_at = boot_clock()
    try:
        answer = await session.renewal.call("renew", message, Renewed, timeout_s=pace_s)
    except Unanswered as error:
        log.warning("renewal_unanswered", leases=len(held), reason=str(error))
        return _again_s(pace_s) + error.retry_after_s
    except Refused as refusal:
        session.note_refusal(refusal)
        log.warning("renewal_refused", leases=len(held), code=refusal.code, detail=refusal.detail)
        return _again_s(pace_s) + refusal.retry_after_s
    session.note_drain(answer.drain_requested)
    return _apply(held, answer, sent_at)


def _apply(held: Sequence[Held], answer: Renewed, sent_at: float) -> float:
    known = {item.lease.attempt: item for item in held}
    for lease in answer.leases:
        if lease.attempt in known:
            known[lease.attempt].apply(lease, sent_at=sent_at)
    is_busy = any(lease.status == "retry" for lease in answer.leases)
    return min(SOON_S, answer.renew_s) if is_busy else answer.renew_s


def _again_s(pace_s: float) -> float:
    """A third of the pace on average, spread over a whole fleet that lost its ingress at one moment."""
    return random.uniform(0.1, 0.6) * pace_s  # noqa: S311
