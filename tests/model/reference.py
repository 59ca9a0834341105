"""The lease protocol in the small: what each call answers and leaves behind, one after the other.

Written from the design and not from the database's functions, so that the two can disagree. Begin with
the tables in `report` and `authority`: they say what happens to an attempt in each situation. Requests and
answers are the JSON of the wire; an answer has the members that the model knows of.
"""

from __future__ import annotations

from typing import Any

from tenure_contracts.error import CODES
from tests.model.authority import Authority
from tests.model.beside import Beside
from tests.model.facts import Refused
from tests.model.report import COLUMNS
from tests.model.session import Sessions
from tests.model.state import Json, Lease


class Reference(Sessions, Authority, Beside):
    """The whole protocol."""

    def judge(self, worker: str, session: str, call: str, body: Json) -> tuple[int, Json]:
        """Status and body of the answer, a refusal included; its effect is in the model afterwards."""
        try:
            if call == "exchange":
                return 200, {"items": [self._item(worker, session, body, item) for item in body["items"]]}
            return 200, self._answer(worker, session, call, body)
        except Refused as refusal:
            rule = CODES[refusal.code]
            return rule.status, {"code": refusal.code, "disposition": rule.disposition, **refusal.members}

    def _item(self, worker: str, session: str, body: Json, item: Json) -> Json:
        """Items are answered one by one; those of the machine do not touch each other."""
        alone = {name: value for name, value in item.items() if name != "call"}
        status, answer = self.judge(
            worker, session, item["call"], {**alone, "generation": body["generation"]}
        )
        return {"status": status, "body" if status == 200 else "problem": answer}

    def _answer(self, worker: str, session: str, call: str, body: Json) -> Json:
        if call == "register":
            return self._register(worker, session, body)
        if call == "attest":
            return self._attest(worker, session, body)
        found = self._session(worker, session, body, live=call not in ("offline", "complete"))
        if call in ("heartbeat", "drain", "offline"):
            return self._touch(session, found, call)
        if call in COLUMNS:
            return self._report(worker, session, call, body)
        of_session = {
            "offers": self._pull,
            "decline": self._decline,
            "renew": self._renew,
            "leases": self._held,
        }
        return of_session[call](session, found, body)


def rows_of(model: Reference) -> Json:
    """What has to stand in the tables."""
    facts = {
        "sessions": {
            id_: [s.worker, s.generation, s.status, s.version, s.expires_at]
            for id_, s in model.sessions.items()
        },
        "runs": {
            id_: [r.status, r.events, r.events, r.events, r.claims, r.cancel, r.next_attempt_at]
            for id_, r in model.runs.items()
        },
        "attempts": {
            id_: [a.run, a.number, a.status, a.dispatchable, a.deadline_at, len(a.kept)]
            for id_, a in model.attempts.items()
        },
        "leases": {id_: _lease_row(a.lease) for id_, a in model.attempts.items() if a.lease.generation},
    }
    return {name: rows or None for name, rows in facts.items()}


def _lease_row(lease: Lease) -> list[Any]:
    return [
        lease.state,
        lease.generation,
        lease.version,
        lease.worker,
        lease.session,
        lease.offer,
        lease.expires_at,
        lease.stop and lease.stop[0],
        lease.stop and lease.stop[1],
        lease.deadline_at,
        lease.attested,
        len(lease.statements) or None,
        lease.reason,
    ]
