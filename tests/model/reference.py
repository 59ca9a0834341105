"""The lease protocol in the small: what each call answers and leaves behind, one call at a time.

Written from the design and not from the database's functions, so that the two can disagree. The tables say what
happens to an attempt in each situation; the methods say what that means. Requests and answers are the JSON of
the wire; an answer has the members that the model knows of.
"""

from __future__ import annotations

from typing import Any, Final

from tests.model.state import (
    RUN_ENDED,
    STARTED,
    Attempt,
    Json,
    Lease,
    Run,
    Session,
    Spent,
    Statement,
    Task,
    text_of,
)

LEASE_S: Final = 30
SESSION_LEASE_S: Final = 45
TAKEOVER_S: Final = 60
DECLINE_S: Final = 30
CLAIMS: Final = 16
LATE_CALLBACKS: Final = 8

#  situation      starting           running              start-failure        complete             attest
REPORTS: Final = {
    "held":     ("start",           "lease_not_started", "lease_not_started", "lease_not_started", "lease_not_started"),
    "returned": ("lease_fenced",    "lease_fenced",      "lease_fenced",      "lease_fenced",      "lease_fenced"),
    "starting": ("replayed",        "applied",           "applied",           "applied",           "state"),
    "running":  ("replayed",        "differs",           "already_started",   "applied",           "state"),
    "stopped":  ("replayed",        "attempt_settled",   "attempt_settled",   "applied",           "state"),
    "reported": ("attempt_settled", "attempt_settled",   "content_conflict",  "content_conflict",  "state"),
    "decided":  ("attempt_settled", "attempt_settled",   "attempt_settled",   "settled",           "state"),
    "dropped":  ("attempt_settled", "attempt_settled",   "attempt_settled",   "settled",           "lease_fenced"),
}  # fmt: skip
COLUMNS: Final = ("starting", "running", "start-failure", "complete", "attest")

KEPT: Final = {
    ("complete", "settled"),
    ("complete", "content_conflict"),
    ("start-failure", "content_conflict"),
}
"""What comes too late is kept as evidence, beside every `attempt_settled`."""

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


class Refused(Exception):  # noqa: N818 - an answer
    """The call is answered with this code."""

    def __init__(self, code: str, **members: object) -> None:
        super().__init__(code)
        self.code = code
        self.members = members


class Reference:
    """Every session, run, attempt and lease of one example."""

    def __init__(self) -> None:
        self.now = 0
        self.sessions: dict[str, Session] = {}
        self.takeover_at: dict[str, int] = {}
        self.runs: dict[str, Run] = {}
        self.attempts: dict[str, Attempt] = {}
        self.spent: dict[str, Spent] = {}

    def answer(self, worker: str, session: str, call: str, body: Json) -> Json:
        """What this call answers; raises Refused. Its effect is in the model afterwards."""
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

    # Sessions

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

    def held_by(self, session: str) -> list[Attempt]:
        """The attempts whose lease this session has."""
        return [
            each
            for each in self.attempts.values()
            if (each.lease.session, each.lease.state) == (session, "leased")
        ]

    # The queue

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

    def _end_lease(self, attempt: Attempt, state: str, reason: str | None = None) -> None:
        attempt.lease.state, attempt.lease.reason = state, reason
        attempt.lease.version += 1

    def _move(self, attempt: Attempt, status: str, events: int) -> None:
        run = self.runs[attempt.run]
        run.status = status
        run.events += events

    # Reports about one attempt

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

    def _proven(self, worker: str, fence: Json, session: str | None) -> Attempt:
        attempt = self.attempts.get(fence["attempt"])
        if attempt is None:
            raise Refused("unknown_attempt")
        refusal = self._fence_refusal(attempt, worker, fence, session)
        if refusal is not None:
            raise Refused(refusal)
        return attempt

    def _verdict(self, attempt: Attempt, call: str, content: Json) -> str:
        # A start has no content beside its key, so the table alone tells its replays; after the end it is none.
        if call != "starting" and attempt.told.get(_key(call)) == content:
            return "replayed"
        verdict = REPORTS[attempt.situation][COLUMNS.index(call)]
        if verdict == "differs":
            same = attempt.told["running"]["executor_handle"] == content["executor_handle"]
            return "content_conflict" if same else "handle_conflict"
        return self._start_verdict(attempt) if verdict == "start" else verdict

    def _start_verdict(self, attempt: Attempt) -> str:
        if attempt.lease.stop is not None or self.runs[attempt.run].cancel is not None:
            return "stop_requested"
        return "lease_expired" if attempt.lease.expires_at <= self.now else "applied"

    def _report(self, worker: str, session: str, call: str, body: Json) -> Json:
        attempt = self._proven(worker, body["lease"], None if call == "complete" else session)
        content = _content(call, body)
        verdict = self._verdict(attempt, call, content)
        if verdict == "attempt_settled" or (call, verdict) in KEPT:
            self._keep(attempt, content)
        if verdict not in ("applied", "replayed", "settled"):
            raise Refused(verdict)
        if verdict == "applied":
            attempt.told[_key(call)] = content
            {"starting": self._start, "running": self._run}.get(call, self._end)(attempt, body)
        return (
            self._completed(attempt, verdict) if call == "complete" else self._acknowledged(attempt, verdict)
        )

    def _keep(self, attempt: Attempt, content: Json) -> None:
        if content not in attempt.kept and len(attempt.kept) < LATE_CALLBACKS:
            attempt.kept.append(content)
            self.runs[attempt.run].events += 1

    def _start(self, attempt: Attempt, _body: Json) -> None:
        run = self.runs[attempt.run]
        run.claims = 0
        run.events += 1
        attempt.status = "starting"
        if run.task.timeout_s is not None:
            attempt.deadline_at = attempt.lease.deadline_at = self.now + run.task.timeout_s

    def _run(self, attempt: Attempt, _body: Json) -> None:
        attempt.status = "running"
        self._move(attempt, "running", events=2)

    def _end(self, attempt: Attempt, body: Json) -> None:
        run = self.runs[attempt.run]
        attempt.status = self._end_status(attempt, body)
        delay = self._delay(run, attempt, body.get("exit_code"))
        if delay is not None:
            run.next_attempt_at = self.now + delay
        self._move(attempt, attempt.status if delay is None else "retry_wait", events=2)
        attempt.outcome = {"late": attempt.lease.expires_at <= self.now, "run_status": run.status}
        self._end_lease(attempt, "completed")

    def _end_status(self, attempt: Attempt, body: Json) -> str:
        reason = attempt.lease.stop[0] if attempt.lease.stop else None
        passed = attempt.deadline_at is not None and attempt.deadline_at <= self.now
        if self.runs[attempt.run].cancel is not None:
            return "cancelled"
        if body.get("outcome") == "succeeded":
            return "succeeded"
        stopped = reason == "timeout" and body.get("stop_answer") == "stopped"
        if "outcome" in body and (
            stopped or (passed and (body["error"] or {}).get("code") == "deadline_exceeded")
        ):
            return "timed_out"
        return "failed"

    def _delay(self, run: Run, attempt: Attempt, exit_code: int | None) -> int | None:
        """The wait before the next try, in seconds; None: there is none."""
        task = run.task
        if attempt.status not in ("failed", "timed_out", "lost") or attempt.number > len(task.delays_s):
            return None
        rule = dict(task.exit_codes).get(exit_code or 0) if attempt.status == "failed" else None
        again = rule == "retry" if rule else attempt.status in task.retried
        return task.delays_s[attempt.number - 1] if again else None

    def _run_status(self, attempt: Attempt) -> str:
        """As the attempt's report left it: a replay is told the same, whatever happened since."""
        return attempt.outcome["run_status"] if attempt.outcome else self.runs[attempt.run].status

    def _acknowledged(self, attempt: Attempt, status: str) -> Json:
        return {
            "status": status,
            "attempt_status": attempt.status,
            "run_status": self._run_status(attempt),
            "lease_version": attempt.lease.version,
            "expires_at": text_of(attempt.lease.expires_at),
            "deadline_at": text_of(attempt.deadline_at),
            "stop": _stop(attempt.lease),
        }

    def _completed(self, attempt: Attempt, status: str) -> Json:
        late = attempt.outcome["late"] if attempt.outcome else False
        return {
            "status": status,
            "late": late,
            "attempt_status": attempt.status,
            "run_status": self._run_status(attempt),
        }

    # Authority

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
            "stop": _stop(lease) if status == "renewed" else None,
        }
        if status != "fenced":
            answer |= {"lease_version": lease.version, "expires_at": text_of(lease.expires_at)}
        return answer

    def _extend(self, lease: Lease) -> None:
        lease.version += 1
        lease.expires_at = max(lease.expires_at, self.now + LEASE_S)
        if lease.stop is None and lease.deadline_at is not None and lease.deadline_at <= self.now:
            lease.stop = ("timeout", self.now)

    def _attest(self, worker: str, session: str, body: Json) -> Json:
        found = self.sessions.get(session)
        if found is None or found.worker != worker:
            raise Refused("session_fenced")
        attempt = self._proven(worker, body, None)
        lease = attempt.lease
        if (REPORTS[attempt.situation][COLUMNS.index("attest")]) != "state" or (
            attempt.status == "cancelled" and "starting" not in attempt.told
        ):
            raise Refused("lease_not_started" if attempt.situation == "held" else "lease_fenced")
        status = self._statement_status(lease, worker, body)
        stopped = lease.attested == "stopped"
        if status == "recorded":
            self.state(attempt, Statement(worker, body["state"], _content("attest", body)))
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
            "stop": _stop(lease) if goes_on else None,
            "disposition": "settled" if body["state"] == "stopped" else None if goes_on else "stop",
            "deadline_at": text_of(attempt.deadline_at),
        }

    def _statement_status(self, lease: Lease, worker: str, body: Json) -> str:
        last, sequence = len(lease.statements), body["sequence"]
        earlier = lease.statements[sequence - 1] if sequence <= last else None
        if earlier is not None and earlier.content == _content("attest", body):
            return "replayed"
        if earlier is not None and earlier.actor == worker:
            raise Refused("content_conflict")
        if sequence != last + 1:
            raise Refused("attestation_conflict", last_sequence=last)
        if body["state"] == "running" and lease.stated("stopped", worker):
            raise Refused("content_conflict")
        return "recorded"

    def state(self, attempt: Attempt, statement: Statement) -> None:
        """Record what a worker or an operator stated."""
        attempt.lease.statements.append(statement)
        self.runs[attempt.run].events += 1

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
            "stop": _stop(lease),
        }

    # What others do

    def active(self, run: str) -> Attempt | None:
        """The attempt that may still be executed."""
        mine = [
            each
            for each in self.attempts.values()
            if each.run == run and each.status in ("claimed", *STARTED)
        ]
        return mine[0] if mine else None

    def unfinished(self) -> list[str]:
        """The runs that may still be cancelled, and are not."""
        return [id_ for id_, run in self.runs.items() if run.cancel is None and run.status not in RUN_ENDED]

    def cancel(self, run: str) -> None:
        """An operator's intent, with its copy on the lease."""
        self.runs[run].cancel = "user"
        attempt = self.active(run)
        if attempt is not None and attempt.lease.state == "leased" and attempt.lease.stop is None:
            attempt.lease.stop = ("user", self.now)

    def converge(self) -> None:
        """Cancelled runs end that nobody can be executing."""
        for id_, run in self.runs.items():
            attempt = self.active(id_)
            if run.cancel is None or run.status in RUN_ENDED or (attempt and attempt.status in STARTED):
                continue
            run.status, run.next_attempt_at = "cancelled", None
            run.events += 1
            if attempt is not None:
                run.events += 1
                attempt.status, attempt.dispatchable = "cancelled", False
                if attempt.lease.state == "leased":
                    self._end_lease(attempt, "released", "settled")

    def recover(self) -> None:
        """Unstarted leases that expired go back to the queue."""
        for attempt in self.attempts.values():
            if attempt.situation == "held" and attempt.lease.expires_at <= self.now:
                self._return_to_queue(attempt, "lease_expired")

    def lose(self, attempt: Attempt) -> None:
        """Recovery has proof that a started attempt with an expired lease is gone."""
        attempt.status = "lost"
        self._end_lease(attempt, "released", "lease_expired")
        self._move(attempt, "lost", events=2)

    def retry(self) -> list[tuple[str, int]]:
        """The policy of what was lost, then what is due: the runs that get an attempt, each with its number."""
        lost = sorted(id_ for id_, run in self.runs.items() if run.status == "lost" and run.cancel is None)
        due = sorted((run.next_attempt_at, id_) for id_, run in self.runs.items() if self._is_due(run))
        for id_ in lost:
            newest = max(
                (each for each in self.attempts.values() if each.run == id_), key=lambda each: each.number
            )
            delay = self._delay(self.runs[id_], newest, None)
            if delay is not None:
                self.runs[id_].next_attempt_at = self.now + delay
            self._move(newest, "failed" if delay is None else "retry_wait", events=1)
        for _, id_ in due:
            run = self.runs[id_]
            run.status, run.next_attempt_at = "queued", None
            run.events += 2
        return [(id_, 1 + sum(each.run == id_ for each in self.attempts.values())) for _, id_ in due]

    def due(self) -> list[str]:
        """The stages of control that would change something now."""
        expired = any(each.situation == "held" and each.lease.expires_at <= self.now for each in self.attempts.values())
        waiting = any(run.status == "lost" or self._is_due(run) for run in self.runs.values())
        cancelled = any(run.cancel and run.status not in RUN_ENDED for run in self.runs.values())
        stages = {"recovery": expired, "retry": waiting, "cancellation": cancelled}
        return [stage for stage, wanted in stages.items() if wanted]

    def _is_due(self, run: Run) -> bool:
        due = run.next_attempt_at is not None and run.next_attempt_at <= self.now
        return run.status == "retry_wait" and run.cancel is None and due


def _key(call: str) -> str:
    """Both end an attempt, so they share a natural key."""
    return "end" if call in ("start-failure", "complete") else call


def _content(call: str, body: Json) -> Json:
    """What a replay must repeat."""
    lease = {name: value for name, value in body.get("lease", {}).items() if name != "lease_version"}
    rest = {name: value for name, value in body.items() if name not in ("request_id", "generation", "lease")}
    return {"call": call, **lease, **rest}


def _stop(lease: Lease) -> Json | None:
    return None if lease.stop is None else {"reason": lease.stop[0], "requested_at": text_of(lease.stop[1])}


def rows_of(model: Reference) -> dict[str, dict[str, Any]]:
    """What has to stand in the tables."""
    return {
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
