"""The last step of an attempt: repeat its report until the ingress has it, then forget it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
import structlog

from tenure_contracts.wire.completion import Complete, Completed
from tenure_contracts.wire.field import NULL, instant
from tenure_contracts.wire.lease import Activated, Fence, StartFailure
from tenure_worker.client import Refused
from tenure_worker.journal import Record, Result
from tenure_worker.session import Session, new_request_id, on_disk

log = structlog.get_logger("tenure.worker")


async def report(session: Session, record: Record, *, is_own: bool) -> None:
    """Report a finished attempt and remove its record. `is_own`: it was started under this session.

    Cancelled: the record stays `finished`, and the next process says the same again.
    """
    try:
        await _send(session, record, is_own=is_own)
    except Refused as refusal:
        session.note_refusal(refusal)
        await _refused(session, record, refusal)
    else:
        await _forget(session, record)


async def _send(session: Session, record: Record, *, is_own: bool) -> None:
    result = _result(record)
    if is_own and not result.spawned:
        try:
            await session.client.insist("start-failure", _start_failure(session, record), Activated)
        except Refused as refusal:
            # The lease may be gone, but a completion needs its token alone, and the truth is worth telling.
            log.info("start_failure_refused", attempt=str(_fence(record).attempt), code=refusal.code)
        else:
            return
    answer = await session.client.insist("complete", _completion(session, record), Completed)
    log.info(
        "attempt_reported",
        attempt=str(_fence(record).attempt),
        outcome=result.outcome,
        exit_code=result.exit_code,
        status=answer.status,
        late=answer.late,
    )


async def _refused(session: Session, record: Record, refusal: Refused) -> None:
    """Obey: `stop` and `settled` drop it, a stored report is a stored report, the rest is for a person."""
    attempt = str(_fence(record).attempt)
    if refusal.disposition in ("stop", "settled") or refusal.code == "content_conflict":
        log.warning("report_not_needed", attempt=attempt, code=refusal.code)
        await _forget(session, record)
        return
    log.error("report_refused", attempt=attempt, code=refusal.code, detail=refusal.detail)
    await on_disk(lambda: session.journal.set_aside(record.offer, f"the report was refused: {refusal.code}"))


async def _forget(session: Session, record: Record) -> None:
    await session.write(record.advance("reported"))
    await session.forget(record.offer)


def _start_failure(session: Session, record: Record) -> StartFailure:
    return StartFailure(
        request_id=new_request_id(),
        generation=session.generation,
        lease=_fence(record),
        error=_raw(_error(_result(record))),
    )


def _completion(session: Session, record: Record) -> Complete:
    result = _result(record)
    return Complete(
        request_id=new_request_id(),
        generation=session.generation,
        lease=_fence(record),
        outcome=result.outcome,
        exit_code=result.exit_code,
        started_at=instant(result.started_at),
        finished_at=instant(result.finished_at),
        output=_raw(result.output),
        error=_raw(_error(result)),
        log=_raw(result.log),
        stop_answer=result.stop_answer,
    )


def _error(result: Result) -> Mapping[str, str] | None:
    if result.error_code is None:
        return None
    return {"code": result.error_code, "message": result.error_message}


def _raw(value: Any) -> msgspec.Raw:
    return NULL if value is None else msgspec.Raw(msgspec.json.encode(value))


def _result(record: Record) -> Result:
    assert record.result is not None
    return record.result


def _fence(record: Record) -> Fence:
    assert record.lease is not None
    return Fence(
        attempt=record.lease.attempt,
        offer=record.offer,
        token=record.token,
        lease_generation=record.lease.lease_generation,
        lease_version=record.lease.lease_version,
    )
