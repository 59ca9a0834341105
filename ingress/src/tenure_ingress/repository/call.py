"""Units of work: each sends one statement, which commits by itself and recognises its own repetition."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias
from uuid import UUID

from tenure_contracts.identity import Token, lease_token_digest
from tenure_contracts.wire.lease import Fence
from tenure_contracts.wire.offer import Decline, Pull
from tenure_contracts.wire.session import Register
from tenure_ingress.repository.caller import Caller, fence_columns
from tenure_postgres.database import Connection, Row
from tenure_postgres.query import folder

QUERIES = folder("tenure_ingress.repository")

Rows: TypeAlias = Callable[[Connection], Awaitable[Sequence[Row]]]


def register(token: Token, session: UUID, message: Register) -> Rows:
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


def touch_session(name: str, caller: Caller) -> Rows:
    """`heartbeat`, `drain` or `offline`. One row: the session, or why not."""
    return _call(name, *caller.columns)


def claim_offers(caller: Caller, message: Pull, lease_s: float) -> Rows:
    """Row 0 sums up; one further row per answered offer."""
    offers = [offer.offer for offer in message.offers]
    tokens = [lease_token_digest(offer.token) for offer in message.offers]
    return _call("claim_offers", *caller.columns, offers, tokens, lease_s)


def decline(caller: Caller, message: Decline) -> Rows:
    """Row 0 carries the refusal; one further row per lease."""
    fences = zip(*map(fence_columns, message.leases), strict=True)
    return _call("decline", *caller.columns, *map(list, fences), message.reason)


def acknowledge(name: str, caller: Caller, fence: Fence, content: bytes, *extra: object) -> Rows:
    """`starting`, `running`, `start_failure` or `complete` of one attempt. One row.

    The functions take arrays, so that many attempts can travel in one call; this sends arrays of one.
    """
    columns = (*caller.columns, *fence_columns(fence), content, *extra)
    return _call(name, *([column] for column in columns))


def answers() -> Rows:
    """One row when the database answers."""
    return _call("answers")


def _call(name: str, *parameters: object) -> Rows:
    async def unit(connection: Connection) -> Sequence[Row]:
        return await connection.fetch(QUERIES[name], *parameters)

    return unit
