"""Sessions: one after another of each worker."""

from __future__ import annotations

from typing import Final

from tests.model.facts import SESSION_LEASE_S, Refused, stop_of
from tests.model.queue import Queue
from tests.model.state import Attempt, Json, Session, text_of

TAKEOVER_S: Final = 60


class Sessions(Queue):
    """Register and the calls about a session alone."""

    def _register(self, worker: str, session: str, body: Json) -> Json:
        content = {name: body[name] for name in ("labels", "limit")}
        if session in self.sessions:
            mine = self.sessions[session]
            if mine.worker != worker or not mine.live:
                raise Refused("session_fenced")
            if mine.content != content:
                raise Refused("content_conflict")
            return self._registered(mine)
        older = self.current(worker)
        generation = 1 + sum(each.worker == worker for each in self.sessions.values())
        mine = Session(worker, generation, content, self.now + SESSION_LEASE_S)
        if older is not None:
            self._replace(worker, older, takeover=body["takeover"])
            mine.replaced = {"session": older, "generation": self.sessions[older].generation}
        self.sessions[session] = mine
        return self._registered(mine)

    def _registered(self, mine: Session) -> Json:
        return {**self._session_facts(mine), "worker": mine.worker, "replaced": mine.replaced}

    def _session_facts(self, mine: Session) -> Json:
        return {
            "generation": mine.generation,
            "version": mine.version,
            "status": mine.status,
            "expires_at": text_of(mine.expires_at),
            "server_time": text_of(self.now),
        }

    def _replace(self, worker: str, older: str, *, takeover: bool) -> None:
        session = self.sessions[older]
        if session.status == "online" and session.expires_at > self.now:
            if not takeover or self.now < self.takeover_at.get(worker, -TAKEOVER_S) + TAKEOVER_S:
                raise Refused("session_conflict")
            self.takeover_at[worker] = self.now
        session.status, session.version = "replaced", session.version + 1
        self._return_unstarted(older, "superseded")
        for attempt in self.held_by(older):
            attempt.lease.expires_at = min(attempt.lease.expires_at, self.now)
            attempt.lease.version += 1

    def _touch(self, id_: str, session: Session, call: str) -> Json:
        if session.status == "replaced":
            raise Refused("session_fenced")
        target = {"heartbeat": session.status, "drain": "draining", "offline": "offline"}[call]
        session.version += target != session.status
        session.status = target
        if session.live:
            session.expires_at = max(session.expires_at, self.now + SESSION_LEASE_S)
        else:
            self._return_unstarted(id_, "shutdown")
        return {**self._session_facts(session), "drain_requested": False}

    def _held(self, id_: str, _session: Session, _body: Json) -> Json:
        oldest_first = sorted(self.held_by(id_), key=lambda each: (each.lease.acquired_at, each.attempt))
        return {"leases": [self._held_lease(each) for each in oldest_first]}

    def _held_lease(self, attempt: Attempt) -> Json:
        lease = attempt.lease
        return {
            "attempt": attempt.attempt,
            "run": attempt.run,
            "offer": lease.offer,
            "lease_generation": lease.generation,
            "lease_version": lease.version,
            "status": attempt.status,
            "expires_at": text_of(lease.expires_at),
            "stop": stop_of(lease),
        }
