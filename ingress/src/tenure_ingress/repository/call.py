"""Units of work: each sends one statement, which commits by itself and recognises its own repetition."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final, TypeAlias, TypeVar
from uuid import UUID

from tenure_contracts.identity import Token, derived_id, lease_token_digest
from tenure_contracts.wire.attestation import Attest
from tenure_contracts.wire.offer import Decline, Pull
from tenure_contracts.wire.session import Register
from tenure_ingress.repository.caller import Caller, fence_columns
from tenure_ingress.repository.row import (
    AnswersRow,
    AttestationRow,
    DeclineRow,
    DispatchableRow,
    HeldLeaseRow,
    Judged,
    OfferRow,
    RecordedRow,
    RegisterRow,
    SessionRow,
)
from tenure_postgres.database import Connection
from tenure_postgres.query import folder

QUERIES = folder("tenure_ingress.repository")

ATTESTATION: Final = "tenure/attestation"
"""Domain of the ids of attestations, which are derived: a replay makes the same one again."""

R = TypeVar("R")
Rows: TypeAlias = Callable[[Connection], Awaitable[Sequence[R]]]


def register(token: Token, session: UUID, message: Register) -> Rows[RegisterRow]:
    """One row: the session, or why not."""
    return _call(
        "register",
        token.id,
        token.secret_digest,
        session,
        json.dumps(message.labels),
        sorted(message.executors),
        sorted(message.handlers),
        message.limit,
        message.session_lease_s,
        message.takeover,
        message.agent,
    )


def touch_session(name: str, caller: Caller) -> Rows[SessionRow]:
    """`drain` or `offline`. One row: the session, or why not."""
    return _call(name, *caller.columns)


def claim_offers(caller: Caller, message: Pull, lease_s: float) -> Rows[OfferRow]:
    """Row 0 sums up; one further row per answered offer."""
    offers = [offer.offer for offer in message.offers]
    tokens = [lease_token_digest(offer.token) for offer in message.offers]
    return _call("claim_offers", *caller.columns, offers, tokens, lease_s)


def dispatchable(limit: int) -> Rows[DispatchableRow]:
    """One row per placement class that has work, which is counted no further than `limit`."""
    return _call("dispatchable", limit)


def decline(caller: Caller, message: Decline) -> Rows[DeclineRow]:
    """Row 0 carries the refusal; one further row per lease."""
    fences = zip(*map(fence_columns, message.leases), strict=True)
    return _call("decline", *caller.columns, *map(list, fences), message.reason)


def attest(
    token: Token, session: UUID, message: Attest, content: bytes, outcome: str | None, lease_s: float
) -> Rows[AttestationRow]:
    """One row: what was recorded and what the caller holds now, or why not.

    `content` recognises a repetition; `outcome` is the storable JSON text of the message's; `lease_s` is how
    long an adopted lease lasts, in seconds.
    """
    return _call(
        "attest",
        token.id,
        token.secret_digest,
        session,
        derived_id(ATTESTATION, message.attempt, message.lease_generation, message.sequence),
        message.attempt,
        message.offer,
        lease_token_digest(message.token),
        message.lease_generation,
        message.sequence,
        message.state,
        message.observed_at,
        message.scope,
        message.executor_handle,
        outcome,
        content,
        lease_s,
    )


def held_leases(caller: Caller) -> Rows[HeldLeaseRow]:
    """Row 0 carries the refusal; one further row per lease."""
    return _call("held_leases", *caller.columns)


def authenticate(token: Token) -> Rows[Judged]:
    """One row: whether the credential is refused."""
    return _call("authenticate", token.id, token.secret_digest)


def record_refusals(process: UUID, report: str) -> Rows[RecordedRow]:
    """One row: whether the report, a JSON object of at most 4 KiB, is in the audit now."""
    return _call("record_refusals", process, report)


def answers() -> Rows[AnswersRow]:
    """One row when the database answers: whether it takes what we write."""
    return _call("answers")


def _call(name: str, *parameters: object) -> Rows[Any]:
    async def unit(connection: Connection) -> Sequence[Any]:
        return await connection.fetch(QUERIES[name], *parameters)

    return unit
