"""Who calls, as every function of the database wants to know it."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from tenure_contracts.identity import Token, lease_token_digest
from tenure_contracts.wire.lease import Fence


@dataclass(frozen=True, slots=True)
class Caller:
    """A credential and the session it speaks for. Only the database can say whether they belong together."""

    token: Token
    session: UUID
    generation: int

    @property
    def columns(self) -> tuple[str, bytes, UUID, int]:
        """The leading parameters of a call."""
        return (self.token.id, self.token.secret_digest, self.session, self.generation)


def fence_columns(fence: Fence) -> tuple[UUID, UUID, bytes, int, int]:
    """A fence as parameters: attempt, offer, digest of the token, lease generation, lease version."""
    return (
        fence.attempt,
        fence.offer,
        lease_token_digest(fence.token),
        fence.lease_generation,
        fence.lease_version,
    )
