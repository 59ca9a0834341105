"""A worker that calls the functions of `ingress_api` itself, on a session that may hold a transaction open.

It sends exactly the statements that the ingress sends, so that an interleaving forced here is one that can
happen there; only the transaction's end is in the hands of the test.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal
from uuid import UUID, uuid4

import msgspec

from tenure_contracts.identity import Token, encode_secret, parse_worker_token
from tenure_contracts.wire.attestation import Attest
from tenure_contracts.wire.codec import content_digest
from tenure_contracts.wire.field import Instant
from tenure_contracts.wire.lease import Fence
from tenure_contracts.wire.offer import Decline, Offer, Pull
from tenure_contracts.wire.session import Register
from tenure_ingress.repository import call
from tenure_ingress.repository.caller import Caller, fence_columns
from tests.harness import ScratchDatabase, Session

Row = Any
LEASE_S = 30.0
STATED_AT = datetime(2026, 1, 1, tzinfo=UTC)
"""Always the same, so that a statement made again is a replay."""


@dataclass
class SqlWorker:
    """One worker session. `name` of the worker is in the credential."""

    connection: Session
    token: Token
    session: UUID = field(default_factory=uuid4)
    generation: int = 1

    @property
    def caller(self) -> Caller:
        """Who calls."""
        return Caller(self.token, self.session, self.generation)

    async def register(
        self,
        *,
        limit: int = 8,
        takeover: bool = False,
        labels: dict[str, str] | None = None,
        handlers: tuple[str, ...] = (),
    ) -> Row:
        """Register this session; its generation is taken over when it was accepted."""
        message = Register(
            request_id=uuid4(),
            labels=labels or {},
            executors=("command", "handler"),
            handlers=handlers,
            limit=limit,
            takeover=takeover,
        )
        (row,) = await self.send(call.register(self.token, self.session, message))
        if row["refusal"] is None:
            self.generation = row["generation"]
        return row

    async def heartbeat(self) -> Row:
        """Extend the session."""
        columns = [[column] for column in self.caller.columns]
        (row,) = await self.connection.rows(call.QUERIES["heartbeat"], *columns)
        return row

    async def drain(self) -> Row:
        """Take nothing more."""
        return await self._one(call.touch_session("drain", self.caller))

    async def offline(self) -> Row:
        """End the session."""
        return await self._one(call.touch_session("offline", self.caller))

    async def pull(
        self, offers: Sequence[Offer] = (), *, count: int = 1, lease_s: float = LEASE_S
    ) -> list[Row]:
        """The summary, then one row per answered offer; fresh offers unless some are given."""
        message = Pull(request_id=uuid4(), generation=1, offers=tuple(offers or fresh_offers(count)))
        return list(await self.send(call.claim_offers(self.caller, message, lease_s)))

    async def claim(self, count: int = 1) -> list[Fence]:
        """Pull, and the fences of what was offered. Fails when it is less than asked for."""
        fences = await self.claim_some(count)
        assert len(fences) == count, f"{len(fences)} offered instead of {count}"
        return fences

    async def claim_some(self, count: int) -> list[Fence]:
        """Pull, and the fences of what was offered, if anything."""
        offers = fresh_offers(count)
        tokens = {offer.offer: offer.token for offer in offers}
        _, *rows = await self.pull(offers)
        return [_fence(row, tokens[row["offer"]]) for row in rows]

    async def decline(self, *fences: Fence, reason: str = "declined") -> list[Row]:
        """Summary and one row per lease."""
        message = msgspec.convert(
            {"request_id": str(uuid4()), "generation": 1, "leases": fences, "reason": reason},
            Decline,
            from_attributes=True,
        )
        return list(await self.send(call.decline(self.caller, message)))

    async def starting(self, *fences: Fence) -> list[Row]:
        """Cross the barrier with all of them in one call."""
        return await self._batch("starting", fences)

    async def running(self, *fences: Fence, handle: str = "pid:1") -> list[Row]:
        """Report processes."""
        now = datetime.now(UTC)
        return await self._batch("running", fences, handle, now)

    async def complete(
        self,
        *fences: Fence,
        outcome: str = "succeeded",
        exit_code: int | None = 0,
        started_at: datetime | None = None,
    ) -> list[Row]:
        """Report ends."""
        now = datetime.now(UTC)
        rest = (outcome, exit_code, started_at or now, now, None, None, None, None, None, None)
        return await self._batch("complete", fences, *rest, content=outcome)

    async def renew(self, *fences: Fence, lease_s: float = LEASE_S) -> list[Row]:
        """Renew all of them in one call."""
        columns = [list(column) for column in zip(*map(fence_columns, fences), strict=True)]
        callers = [[column] for column in self.caller.columns]
        return list(
            await self.connection.rows(call.QUERIES["renew"], *callers, [1] * len(fences), *columns, lease_s)
        )

    async def attest(self, fence: Fence, state: Literal["running", "stopped"], sequence: int = 1) -> Row:
        """State something about one attempt."""
        message = Attest(
            request_id=uuid4(),
            attempt=fence.attempt,
            offer=fence.offer,
            token=fence.token,
            lease_generation=fence.lease_generation,
            sequence=sequence,
            state=state,
            observed_at=Instant.of(STATED_AT),
            scope="group",
        )
        content = content_digest(message)
        return await self._one(call.attest(self.token, self.session, message, content, None, LEASE_S))

    async def send(self, unit: Any) -> Sequence[Row]:
        """Send the statement of a unit of work on this worker's own connection."""
        sql, parameters = await unit(_Capture())
        return await self.connection.rows(sql, *parameters)

    async def _one(self, unit: Any) -> Row:
        (row,) = await self.send(unit)
        return row

    async def _batch(
        self, name: str, fences: Sequence[Fence], *extra: object, content: str = ""
    ) -> list[Row]:
        rows = [
            (*self.caller.columns, *fence_columns(fence), _content(name, fence, content), *extra)
            for fence in fences
        ]
        columns = [list(column) for column in zip(*rows, strict=True)]
        return list(await self.connection.rows(call.QUERIES[name], *columns))


class _Capture:
    """Stands in for a connection and hands back what would have been sent."""

    async def fetch(self, sql: str, *parameters: object) -> tuple[str, tuple[object, ...]]:
        return sql, parameters


def _content(name: str, fence: Fence, content: str) -> bytes:
    return hashlib.sha256(f"{name} {fence.attempt} {fence.lease_generation} {content}".encode()).digest()


def fresh_offers(count: int) -> list[Offer]:
    """New offers with new tokens."""
    return [Offer(offer=uuid4(), token=encode_secret(secrets.token_bytes(32))) for _ in range(count)]


def _fence(row: Row, token: str) -> Fence:
    return Fence(
        attempt=row["attempt"],
        offer=row["offer"],
        token=token,
        lease_generation=row["lease_generation"],
        lease_version=row["lease_version"],
    )


@asynccontextmanager
async def open_worker(
    database: ScratchDatabase, token: str, *, register: bool = True, **registration: Any
) -> AsyncIterator[SqlWorker]:
    """A worker session on a connection of its own as tenure_ingress, registered unless told otherwise."""
    async with database.session("tenure_ingress") as connection:
        worker = SqlWorker(connection, parse_worker_token(token))
        if register:
            row = await worker.register(**registration)
            assert row["refusal"] is None, row["refusal"]
        yield worker


async def start(worker: SqlWorker, *fences: Fence) -> None:
    """Bring claimed attempts to `running`."""
    for rows in (await worker.starting(*fences), await worker.running(*fences)):
        assert {row["status"] for row in rows} == {"applied"}
