"""Who holds what: renewals, and statements that may move a lease to another session."""

from __future__ import annotations

from typing import Final

from tests.model.facts import Refused, stop_of
from tests.model.report import Reports, content_of
from tests.model.state import Json, Lease, Session, Statement, text_of

#  situation      renewal, and whom it tells what to do
RENEWALS: Final = {
    "held":     ("renewed", None),
    "returned": ("fenced", "stop"),
    "starting": ("renewed", None),
    "running":  ("renewed", None),
    "stopped":  ("terminal", "settled"),
    "reported": ("terminal", "settled"),
    "decided":  ("terminal", "stop"),
    "dropped":  ("terminal", "stop"),
}  # fmt: skip


UNSTARTED: Final = {"held": "lease_not_started", "returned": "lease_fenced", "dropped": "lease_fenced"}
"""Nothing can be stated about what did not start."""


class Authority(Reports):
    """Renew and attest."""

    def _renew(self, id_: str, session: Session, body: Json) -> Json:
        return {"leases": [self._renew_one(id_, session, fence) for fence in body["leases"]]}

    def _renew_one(self, id_: str, session: Session, fence: Json) -> Json:
        attempt = self.attempts.get(fence["attempt"])
        if attempt is None or self._fence_refusal(attempt, session.worker, fence, id_) is not None:
            return {"attempt": fence["attempt"], "status": "fenced", "disposition": "stop"}
        lease = attempt.lease
        status, disposition = RENEWALS[attempt.situation]
        if lease.attested == "stopped":
            disposition = "settled"
        late = status == "renewed" and lease.expires_at <= self.now
        if status == "renewed":
            self._extend(lease)
        answer: Json = {
            "attempt": fence["attempt"],
            "status": "stop" if status == "renewed" and lease.stop else status,
            "disposition": disposition,
            "late": late,
            "terminal": "cancelled" if disposition == "stop" and attempt.status == "cancelled" else None,
            "stop": stop_of(lease) if status == "renewed" else None,
        }
        if status != "fenced":
            answer |= {"lease_version": lease.version, "expires_at": text_of(lease.expires_at)}
        return answer

    def _attest(self, worker: str, session: str, body: Json) -> Json:
        found = self.sessions.get(session)
        if found is None or found.worker != worker:
            raise Refused("session_fenced")
        attempt = self._proven(worker, body, None)
        lease = attempt.lease
        if attempt.situation in UNSTARTED:
            raise Refused(UNSTARTED[attempt.situation])
        status = self._statement_status(lease, worker, body)
        stopped = lease.attested == "stopped"
        if status == "recorded":
            self.state(attempt, Statement(worker, body["state"], content_of("attest", body)))
        newest = body["sequence"] == len(lease.statements)
        goes_on = (
            body["state"] == "running" and not stopped and newest and lease.state == "leased" and found.live
        )
        if goes_on and (status == "recorded" or lease.session != session):
            self._extend(lease)
            lease.session = session
        return {
            "status": status,
            "sequence": body["sequence"],
            "lease": {"lease_version": lease.version, "expires_at": text_of(lease.expires_at)}
            if goes_on
            else None,
            "stop": stop_of(lease) if goes_on else None,
            "disposition": "settled" if body["state"] == "stopped" else None if goes_on else "stop",
            "deadline_at": text_of(attempt.deadline_at),
        }

    def _statement_status(self, lease: Lease, worker: str, body: Json) -> str:
        last, sequence = len(lease.statements), body["sequence"]
        earlier = lease.statements[sequence - 1] if sequence <= last else None
        if earlier is not None and earlier.content == content_of("attest", body):
            return "replayed"
        if earlier is not None and earlier.actor == worker:
            raise Refused("content_conflict")
        if sequence != last + 1:
            raise Refused("attestation_conflict", last_sequence=last)
        if body["state"] == "running" and lease.stated("stopped", worker):
            raise Refused("content_conflict")
        return "recorded"
