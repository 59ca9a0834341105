"""Workers and their credentials."""

from __future__ import annotations

from typing import Literal

from msgspec import UNSET, UnsetType

from tenure_contracts.wire.codec import Answer
from tenure_contracts.wire.field import Instant


class WorkerSession(Answer, frozen=True, kw_only=True):
    """A session of a worker. One that went offline or was replaced has ended, and never comes back."""

    session: str
    generation: int
    status: str
    labels: dict[str, str]
    executors: list[str]
    handlers: list[str]
    limit: int
    leases: int
    agent: str
    registered_at: Instant
    seen_at: Instant
    expires_at: Instant
    ended_at: Instant | None = None
    replaced_by: str | None = None
    drain_requested: bool = False


class Worker(Answer, frozen=True, kw_only=True):
    """A worker and its current session; one that never connected has none.

    `sessions` has the newest ones, newest first and the current one among them, at most 32; a list has none.
    """

    worker: str
    session: WorkerSession | None = None
    sessions: list[WorkerSession] | UnsetType = UNSET


class Credential(Answer, frozen=True, kw_only=True):
    """A credential, never its secret."""

    credential: str
    worker: str
    version: int
    state: Literal["active", "revoked"]
    created_at: Instant
    expires_at: Instant | None = None
    first_used_at: Instant | None = None


class Issued(Answer, frozen=True, kw_only=True):
    """Answer of issue and rotate. The token is shown once: a replay has none, and says so."""

    credential: str
    worker: str
    version: int
    token: str | UnsetType = UNSET
    replayed: bool = False

    def __repr__(self) -> str:
        return f"Issued(credential={self.credential!r}, worker={self.worker!r}, version={self.version})"
