"""Work that waits, is claimed, and is given back without having started."""

from __future__ import annotations

from typing import Final

from tests.model.facts import LEASE_S, SESSION_LEASE_S, Facts
from tests.model.state import Attempt, Json, Lease, Run, Session, Spent, Task, text_of

DECLINE_S: Final = 30
CLAIMS: Final = 16


class Queue(Facts):
    """Offers and declines."""

    def admit(self, run: str, attempt: str, task: Task, claims: int = 0) -> None:
        """A run with its first attempt. `claims`: how often it was claimed without a start."""
        self.runs[run] = Run(task, claims=claims)
        self.attempts[attempt] = Attempt(attempt, run, 1)

    def add_attempt(self, attempt: str, run: str, number: int) -> None:
        """One more try."""
        self.attempts[attempt] = Attempt(attempt, run, number)

    def _pull(self, id_: str, session: Session, body: Json) -> Json:
        session.expires_at = max(session.expires_at, self.now + SESSION_LEASE_S)
        fresh = [offer for offer in body["offers"] if offer["offer"] not in self.spent]
        room = session.content["limit"] - len(self.held_by(id_))
        work = [each for each in self._dispatchable() if self._may_claim(id_, session, each)]
        claims = list(zip(fresh, work, range(room if session.status == "online" else 0), strict=False))
        for offer, attempt, _ in claims:
            self._claim(id_, session, attempt, offer)
        answers = [
            (offer, self._offered(id_, session, offer))
            for offer in body["offers"]
            if offer["offer"] in self.spent
        ]
        return {
            "offered": [answer for _, answer in answers if answer],
            "settled": [offer["offer"] for offer, answer in answers if not answer],
            "none": None if len(claims) == len(fresh) else self._nothing_more(session, room - len(claims)),
        }

    def _dispatchable(self) -> list[Attempt]:
        """In the order of their fair tags: one project, one priority, so that is the order of their birth."""
        return [each for each in self.attempts.values() if each.dispatchable]

    def _may_claim(self, id_: str, session: Session, attempt: Attempt) -> bool:
        run = self.runs[attempt.run]
        recently = self.now < attempt.declined.get(id_, -DECLINE_S) + DECLINE_S
        return session.matches(run.task) and run.cancel is None and not recently

    def _nothing_more(self, session: Session, room: int) -> str:
        if session.status == "draining":
            return "draining"
        if room <= 0:
            return "at_limit"
        for_others = [each for each in self._dispatchable() if not session.matches(self.runs[each.run].task)]
        return "no_match" if for_others else "no_work"

    def _claim(self, id_: str, session: Session, attempt: Attempt, offer: Json) -> None:
        attempt.dispatchable = False
        attempt.lease = Lease(
            "leased",
            attempt.lease.generation + 1,
            attempt.lease.version + 1,
            session.worker,
            id_,
            offer["offer"],
            offer["token"],
            self.now,
            self.now + LEASE_S,
        )
        self.spent[offer["offer"]] = Spent(
            attempt.attempt, attempt.lease.generation, session.worker, offer["token"]
        )
        self._move(attempt, "dispatching", events=1)

    def _offered(self, id_: str, session: Session, offer: Json) -> Json | None:
        """The answer to a spent offer; None: settled."""
        spent = self.spent[offer["offer"]]
        attempt = self.attempts[spent.attempt]
        lease = attempt.lease
        held = lease.state == "leased" and lease.offer == offer["offer"]
        if not held or (spent.worker, spent.token) != (session.worker, offer["token"]):
            return None
        unstarted = attempt.status == "claimed"
        if unstarted and lease.session != id_:
            return None
        return {
            "offer": offer["offer"],
            "recovered": not unstarted,
            "spawn": unstarted,
            "attempt": {
                "attempt": attempt.attempt,
                "run": attempt.run,
                "number": attempt.number,
                "try": attempt.number,
                "status": attempt.status,
                "deadline_at": text_of(attempt.deadline_at),
            },
            "lease": {
                "lease_generation": lease.generation,
                "lease_version": lease.version,
                "acquired_at": text_of(lease.acquired_at),
                "expires_at": text_of(lease.expires_at),
            },
        }

    def _decline(self, id_: str, session: Session, body: Json) -> Json:
        return {
            "leases": [
                {
                    "attempt": fence["attempt"],
                    "status": self._decline_one(id_, session, fence, body["reason"]),
                }
                for fence in body["leases"]
            ]
        }

    def _decline_one(self, id_: str, session: Session, fence: Json, reason: str) -> str:
        attempt = self.attempts.get(fence["attempt"])
        if attempt is None:
            return "fenced"
        if self._fence_refusal(attempt, session.worker, fence, id_) is None and attempt.situation == "held":
            if reason == "declined":
                attempt.declined[id_] = self.now
            self._return_to_queue(attempt, reason)
            return "released"
        spent = self.spent.get(fence["offer"])
        proof = Spent(fence["attempt"], fence["lease_generation"], session.worker, fence["token"])
        given_back = attempt.given_back.get(fence["lease_generation"]) in ("declined", "shutdown")
        return "released" if spent == proof and given_back else "fenced"

    def _return_unstarted(self, session: str, reason: str) -> None:
        for attempt in self.held_by(session):
            if attempt.status == "claimed":
                self._return_to_queue(attempt, reason)

    def _return_to_queue(self, attempt: Attempt, reason: str) -> None:
        run = self.runs[attempt.run]
        self._end_lease(attempt, "released", reason)
        attempt.given_back[attempt.lease.generation] = reason
        run.claims += reason in ("declined", "lease_expired")
        if run.claims >= CLAIMS and run.cancel is None:
            attempt.status = "failed"
            self._move(attempt, "failed", events=2)
        else:
            attempt.dispatchable = True
            self._move(attempt, "queued", events=1)
