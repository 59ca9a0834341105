"""One example of every message of the protocol, for the OpenAPI document: a short life of one attempt.

They are messages, not text, so an example that no longer fits its type is an error of the type checker.
"""

from __future__ import annotations

from typing import Any, Final
from uuid import UUID

import msgspec

from tenure_contracts.error import Refusal
from tenure_contracts.wire.attestation import Attest, Attested, AttestedLease, AttestedOutcome
from tenure_contracts.wire.codec import Answer, Request, encode
from tenure_contracts.wire.completion import Complete, Completed
from tenure_contracts.wire.exchange import Exchange, Exchanged, ExchangedItem, RenewItem
from tenure_contracts.wire.field import Instant
from tenure_contracts.wire.lease import (
    Activated,
    Fence,
    HeldLease,
    HeldLeases,
    ListLeases,
    Renew,
    Renewed,
    RenewedLease,
    Running,
    StartFailure,
    Starting,
)
from tenure_contracts.wire.offer import (
    Decline,
    Declined,
    DeclinedLease,
    Offer,
    Offered,
    OfferedAttempt,
    OfferedLease,
    Plan,
    Pull,
    Pulled,
)
from tenure_contracts.wire.problem import problem
from tenure_contracts.wire.session import (
    Advice,
    Drain,
    Heartbeat,
    Offline,
    Register,
    Registered,
    Replaced,
    SessionAnswer,
)
from tenure_contracts.wire.supply import Logs, LogsStored, Secrets, SecretValues

SESSION: Final = UUID("0190a3c8-5e0c-7f3a-9d51-2f6f0c3f1b77")

_REQUEST: Final = UUID("0190a3c8-6b1e-7d44-8c0f-5a1de94b7a02")
_ATTEMPT: Final = UUID("0190a3c8-6f02-7b19-a3c6-81f3c2d5e604")
_RUN: Final = UUID("0190a3c8-6f01-7c58-b2d4-90a7be13f5c8")
_OFFER: Final = UUID("0190a3c8-7011-7e2b-9f65-d24c86a0b3e1")
_TOKEN: Final = "kq0Zr2Yw8mJtV5uXb1Nc7LdEa4Gf9Hs3PiQoRxTyUzI"  # noqa: S105 - made up
_NOW: Final = Instant.parse("2026-12-01T00:00:10.250000Z")
_THEN: Final = Instant.parse("2026-12-01T00:00:40.250000Z")
_OLD: Final = UUID("0190a3c7-11d0-7a90-8e1b-6c0d94e2f7a5")

_FENCE: Final = Fence(attempt=_ATTEMPT, offer=_OFFER, token=_TOKEN, lease_generation=1, lease_version=4)
_ADVICE: Final = Advice(heartbeat_s=15.0, renew_s=9.417, lease_s=30.0)
_ERROR: Final = msgspec.Raw(b'{"code": "not_found", "message": "no such program"}')
_DIGEST: Final = "47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU"
_LOG: Final = msgspec.Raw(b'{"bytes": 0, "sha256": "%s", "truncated": false}' % _DIGEST.encode())

_TOUCHED: Final = SessionAnswer(
    generation=3, version=2, status="online", expires_at=_THEN, server_time=_NOW, advice=_ADVICE
)
_ACTIVATED: Final = Activated(
    status="applied",
    attempt_status="running",
    run_status="running",
    lease_version=4,
    expires_at=_THEN,
    server_time=_NOW,
)
_RENEWED: Final = Renewed(
    leases=(RenewedLease(attempt=_ATTEMPT, status="renewed", lease_version=5, expires_at=_THEN),),
    renew_s=9.417,
    server_time=_NOW,
)
_RENEWAL: Final = RenewItem(request_id=_REQUEST, leases=(_FENCE,))
_FENCED: Final = Refusal("lease_fenced", "The lease is not held under this fence.")
_OFFERED: Final = Offered(
    offer=_OFFER,
    attempt=OfferedAttempt(
        attempt=_ATTEMPT,
        run=_RUN,
        project="shop",
        task="report",
        revision=2,
        digest=_DIGEST,
        number=1,
        try_=1,
        priority=5,
        status="claimed",
    ),
    lease=OfferedLease(lease_generation=1, lease_version=1, acquired_at=_NOW, expires_at=_THEN),
    plan=Plan(
        executor="command",
        argv=("python3", "-m", "report", "--day", "2026-11-30"),
        kill_grace_s=10.0,
        timeout_s=900.0,
        log_limit_bytes=4 * 1024 * 1024,
    ),
    input=msgspec.Raw(b'{"day": "2026-11-30"}'),
)

REQUESTS: Final[tuple[Request, ...]] = (
    Register(
        request_id=_REQUEST,
        labels={"region": "eu"},
        executors=("command", "handler"),
        handlers=("resize",),
        limit=8,
        agent="tenure-worker/0.1",
    ),
    Heartbeat(request_id=_REQUEST, generation=3),
    Drain(request_id=_REQUEST, generation=3),
    Offline(request_id=_REQUEST, generation=3),
    Pull(request_id=_REQUEST, generation=3, offers=(Offer(offer=_OFFER, token=_TOKEN),)),
    Decline(request_id=_REQUEST, generation=3, leases=(_FENCE,), reason="declined"),
    Starting(request_id=_REQUEST, generation=3, lease=_FENCE),
    Running(request_id=_REQUEST, generation=3, lease=_FENCE, executor_handle="pid:4711", started_at=_NOW),
    StartFailure(request_id=_REQUEST, generation=3, lease=_FENCE, error=_ERROR),
    Renew(request_id=_REQUEST, generation=3, leases=(_FENCE,)),
    Complete(
        request_id=_REQUEST,
        generation=3,
        lease=_FENCE,
        outcome="succeeded",
        exit_code=0,
        started_at=_NOW,
        finished_at=_THEN,
        output=msgspec.Raw(b'{"rows": 3}'),
        log=_LOG,
    ),
    Attest(
        request_id=_REQUEST,
        attempt=_ATTEMPT,
        offer=_OFFER,
        token=_TOKEN,
        lease_generation=1,
        sequence=1,
        state="stopped",
        observed_at=_THEN,
        scope="cgroup",
        outcome=AttestedOutcome(outcome="failed", exit_code=1, error=_ERROR),
    ),
    ListLeases(request_id=_REQUEST, generation=3),
    Exchange(generation=3, items=(msgspec.Raw(encode(_RENEWAL)),)),
    Secrets(request_id=_REQUEST, generation=3, lease=_FENCE, names=("db-password",)),
    Logs(request_id=_REQUEST, generation=3, lease=_FENCE, offset=0, stream="stdout", data="aGVsbG8K"),
)
"""One body of each call."""

ANSWERS: Final[tuple[Answer, ...]] = (
    Registered(
        worker="w1",
        generation=3,
        version=1,
        status="online",
        expires_at=_THEN,
        server_time=_NOW,
        replaced=Replaced(session=_OLD, generation=2),
        advice=_ADVICE,
    ),
    _TOUCHED,
    Pulled(offered=(_OFFERED,), server_time=_NOW),
    Declined(leases=(DeclinedLease(attempt=_ATTEMPT, status="released"),)),
    _ACTIVATED,
    _RENEWED,
    Completed(status="applied", attempt_status="succeeded", run_status="succeeded", server_time=_NOW),
    Attested(
        status="recorded",
        sequence=1,
        lease=AttestedLease(lease_version=6, expires_at=_THEN),
        server_time=_NOW,
    ),
    HeldLeases(
        leases=(
            HeldLease(
                attempt=_ATTEMPT,
                run=_RUN,
                offer=_OFFER,
                lease_generation=1,
                lease_version=4,
                status="running",
                expires_at=_THEN,
            ),
        )
    ),
    Exchanged(
        items=(
            ExchangedItem(status=200, body=msgspec.Raw(encode(_RENEWED))),
            ExchangedItem(status=_FENCED.status, problem=problem(_FENCED, _REQUEST)),
        )
    ),
    SecretValues(values={"db-password": "…"}),
    LogsStored(next_offset=6),
)
"""One answer of each kind."""


def example(message: type[Request] | type[Answer]) -> Any:
    """The example of a message as plain JSON values. A message without one is a KeyError."""
    return msgspec.json.decode(_EXAMPLES[message])


_MESSAGES: Final[tuple[Request | Answer, ...]] = (*REQUESTS, *ANSWERS)
_EXAMPLES: Final[dict[type[Request] | type[Answer], bytes]] = {type(each): encode(each) for each in _MESSAGES}
