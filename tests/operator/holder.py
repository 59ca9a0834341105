"""A worker that speaks to the database functions directly: the real protocol makes what the views show."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID, uuid4

from tenure_contracts.identity import lease_token_digest, parse_worker_token
from tests.harness import ScratchDatabase
from tests.harness.operator import OperatorApi

TOKEN = "A" * 43


@dataclass
class Holder:
    """One session of one worker, holding at most one attempt."""

    database: ScratchDatabase
    token: str
    labels: dict[str, str] = field(default_factory=dict)
    session: UUID = field(default_factory=uuid4)
    generation: int = 0
    attempt: UUID | None = None
    offer: UUID = field(default_factory=uuid4)
    lease_generation: int = 0

    @property
    def _proof(self) -> tuple[str, bytes, UUID, int]:
        token = parse_worker_token(self.token)
        return token.id, token.secret_digest, self.session, self.generation

    def register(self) -> None:
        """Begin the session."""
        credential, secret, session, _ = self._proof
        [row] = self.database.rows(
            "SELECT * FROM ingress_api.register_v1($1, $2, $3, $4, '{command}', '{}', 8, 45, true, 'test')",
            credential,
            secret,
            session,
            json.dumps(self.labels),
        )
        assert row["refusal"] is None
        self.generation = row["generation"]

    def claim(self) -> None:
        """Take the next attempt."""
        self.offer = uuid4()
        rows = self.database.rows(
            "SELECT * FROM ingress_api.claim_offers_v1($1, $2, $3, $4, $5, $6, 30)",
            *self._proof,
            [self.offer],
            [lease_token_digest(TOKEN)],
        )
        assert [row["outcome"] for row in rows[1:]] == ["offered"], rows
        self.attempt, self.lease_generation = rows[1]["attempt"], rows[1]["lease_generation"]

    def decline(self) -> None:
        """Give it back."""
        self.database.rows(
            "SELECT * FROM ingress_api.decline_v1($1, $2, $3, $4, $5, $6, $7, $8, $9, 'declined')",
            *self._proof,
            [self.attempt],
            [self.offer],
            [lease_token_digest(TOKEN)],
            [self.lease_generation],
            [1],
        )

    def start(self) -> None:
        """Cross the start barrier."""
        [row] = self._call("starting_v1", "$10", [b"start"])
        assert row["status"] == "applied", row

    def complete(self, outcome: str, exit_code: int, output: str | None = None) -> None:
        """Report the end."""
        now = self.database.value("SELECT tenure.clock()")
        error = (None, None) if outcome == "succeeded" else ("exit_code", f"exit code {exit_code}")
        values = (outcome, exit_code, now, now, output, None, *error, None, None)
        places = ", ".join(f"${number}" for number in range(10, 21))
        [row] = self._call("complete_v1", places, [b"end"], *([value] for value in values))
        assert row["status"] == "applied", row

    def _call(self, name: str, places: str, *arguments: Any) -> Any:
        return self.database.rows(
            f"SELECT * FROM ingress_api.{name}($1, $2, $3, $4, $5, $6, $7, $8, $9, {places})",
            *([each] for each in self._proof),
            [self.attempt],
            [self.offer],
            [lease_token_digest(TOKEN)],
            [self.lease_generation],
            [1],
            *arguments,
        )


async def enrolled(api: OperatorApi, worker: str = "w1", **labels: str) -> Holder:
    """A registered session of a worker that the API issued a credential for."""
    issued = await api.owner.post(f"/v1/workers/{worker}/credentials", {"request_id": str(uuid4())})
    holder = Holder(api.database, issued.json["token"], labels)
    holder.register()
    return holder
