"""The security audit: a row before each effect, in its transaction; and with it the replay of request ids."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final
from uuid import UUID

import msgspec

from tenure_contracts.error import Refusal
from tenure_contracts.event import operator_actor
from tenure_postgres.database import Connection
from tenure_postgres.query import folder

QUERIES: Final = folder(__package__)


async def record(
    connection: Connection,
    operator: str,
    action: str,
    target: str,
    *,
    request_id: UUID | None = None,
    detail: Mapping[str, Any] | None = None,
) -> bool:
    """Note what is about to happen. False: this request did it before, and nothing may happen now.

    Raises Refusal `idempotency_conflict` when the request id stands for something else.
    """
    actor = operator_actor(operator)
    text = msgspec.json.encode(detail or {}).decode()
    event = await connection.fetchval(QUERIES["record_action"], actor, action, target, request_id, text)
    if event is not None:
        return True
    # A later statement: the one that found the conflict cannot see a row that was committed meanwhile.
    found = await connection.fetchrow(QUERIES["find_action"], request_id)
    if found is None or (found["actor"], found["action"], found["object"]) != (actor, action, target):
        raise Refusal("idempotency_conflict", "This request_id was used for something else.")
    return False
