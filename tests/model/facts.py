"""What the model knows, and what every part of it needs."""

from __future__ import annotations

from typing import Final

from tests.model.state import STARTED, Attempt, Json, Lease, Run, Session, Spent, Statement, text_of

LEASE_S: Final = 30
SESSION_LEASE_S: Final = 45


class Refused(Exception):  # noqa: N818 - an answer
    """The call is answered with this code."""

    def __init__(self, code: str, **members: object) -> None:
        super().__init__(code)
        self.code = code
        self.members = members


class Facts:
    """Every session, run, attempt and lease of one example."""

    def __init__(self) -> None:
        self.now = 0
        self.sessions: dict[str, Session] = {}
        self.takeover_at: dict[str, int] = {}
        self.runs: dict[str, Run] = {}
        self.attempts: dict[str, Attempt] = {}
        self.spent: dict[str, Spent] = {}

    def _session(self, worker: str, session: str, body: Json, *, live: bool) -> Session:
        found = self.sessions.get(session)
        if found is None or (found.worker, found.generation) != (worker, body["generation"]):
            raise Refused("session_fenced")
        if live and not found.live:
            raise Refused("session_fenced")
        return found

    def current(self, worker: str) -> str | None:
        """The session that the next one replaces."""
        mine = [
            id_ for id_, each in self.sessions.items() if each.worker == worker and each.status != "replaced"
        ]
        return mine[0] if mine else None

    def held_by(self, session: str) -> list[Attempt]:
        """The attempts whose lease this session has."""
        return [
            each
            for each in self.attempts.values()
            if (each.lease.session, each.lease.state) == (session, "leased")
        ]

    def active(self, run: str) -> Attempt | None:
        """The attempt that may still be executed."""
        mine = [
            each
            for each in self.attempts.values()
            if each.run == run and each.status in ("claimed", *STARTED)
        ]
        return mine[0] if mine else None

    def _move(self, attempt: Attempt, status: str, events: int) -> None:
        run = self.runs[attempt.run]
        run.status = status
        run.events += events

    def _end_lease(self, attempt: Attempt, state: str, reason: str | None = None) -> None:
        attempt.lease.state, attempt.lease.reason = state, reason
        attempt.lease.version += 1

    def _fence_refusal(
        self, attempt: Attempt, worker: str, fence: Json, session: str | None = None
    ) -> str | None:
        """Why this fence proves nothing. With a session, it has to be the one that holds the lease."""
        lease = attempt.lease
        presented = (worker, fence["offer"], fence["token"], fence["lease_generation"])
        if presented != (lease.worker, lease.offer, lease.token, lease.generation):
            return "lease_fenced"
        if fence.get("lease_version", 1) > lease.version:
            return "invalid_field"
        return "lease_fenced" if session not in (None, lease.session) else None

    def _extend(self, lease: Lease) -> None:
        lease.version += 1
        lease.expires_at = max(lease.expires_at, self.now + LEASE_S)
        if lease.stop is None and lease.deadline_at is not None and lease.deadline_at <= self.now:
            lease.stop = ("timeout", self.now)

    def state(self, attempt: Attempt, statement: Statement) -> None:
        """Record what a worker or an operator stated."""
        attempt.lease.statements.append(statement)
        self.runs[attempt.run].events += 1


def stop_of(lease: Lease) -> Json | None:
    """The stop that stands on a lease."""
    return None if lease.stop is None else {"reason": lease.stop[0], "requested_at": text_of(lease.stop[1])}
