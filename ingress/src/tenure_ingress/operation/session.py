"""Sessions: register, heartbeat, drain, offline."""

from __future__ import annotations

import json
from typing import Literal
from uuid import UUID

from tenure_contracts.error import Refusal
from tenure_contracts.identity import Token
from tenure_contracts.wire.field import Instant
from tenure_contracts.wire.session import Heartbeat, Register, Registered, Replaced, SessionAnswer
from tenure_ingress.operation.service import Service, check
from tenure_ingress.repository import call
from tenure_ingress.repository.caller import Caller
from tenure_ingress.repository.row import RegisterRow, SessionRow


async def register(service: Service, token: Token, session: UUID, message: Register) -> Registered:
    """Create, replay or replace; Refusal `session_conflict` with both ages while an older one is live."""
    (row,) = await service.rows(call.register(token, session, message))
    if row["refusal"] == "session_conflict":
        raise _conflict(json.loads(row["detail"] or "{}"))
    check(row)
    if row["replaced_session"] is not None:
        service.work_returned()
    return Registered(
        worker=row["worker"],
        generation=row["generation"],
        version=row["version"],
        status=row["status"],
        expires_at=Instant.of(row["expires_at"]),
        server_time=Instant.of(row["server_time"]),
        replaced=_replaced(row),
        advice=service.advice,
    )


async def heartbeat(service: Service, caller: Caller, message: Heartbeat) -> SessionAnswer:
    """Extend a session, together with others. StillLocked when it stayed locked for a second."""
    row = await service.lanes.heartbeats.submit(caller, keys=(caller.session,), content=caller)
    check(row)
    return _answer(service, row)


async def touch(service: Service, caller: Caller, name: Literal["drain", "offline"]) -> SessionAnswer:
    """Extend a session, and make the transition of that name."""
    row = await service.row(call.touch_session(name, caller))
    if name == "offline":
        service.work_returned()
    return _answer(service, row)


def _answer(service: Service, row: SessionRow) -> SessionAnswer:
    return SessionAnswer(
        generation=row["generation"],
        version=row["version"],
        status=row["status"],
        expires_at=Instant.of(row["expires_at"]),
        server_time=Instant.of(row["server_time"]),
        advice=service.advice,
        drain_requested=row["drain_requested"],
    )


def _replaced(row: RegisterRow) -> Replaced | None:
    if row["replaced_session"] is None or row["replaced_generation"] is None:
        return None
    return Replaced(session=row["replaced_session"], generation=row["replaced_generation"])


def _conflict(detail: dict[str, float]) -> Refusal:
    sentence = (
        f"A live session of this worker exists: registered {detail['session_age_s']:.1f} s ago, "
        f"last seen {detail['seen_age_s']:.1f} s ago."
    )
    return Refusal(
        "session_conflict",
        sentence,
        retry_after_s=max(detail["retry_after_s"], 0.1),
        session_age_s=detail["session_age_s"],
        seen_age_s=detail["seen_age_s"],
    )
