"""What its holder says about one attempt: the start barrier and everything after it."""

from __future__ import annotations

from typing import Final

from tests.model.facts import Facts, Refused, stop_of
from tests.model.state import Attempt, Json, Run, Spent, text_of

LATE_CALLBACKS: Final = 8

#  situation     starting           running              start-failure        complete
REPORTS: Final = {
    "held":     ("start",           "lease_not_started", "lease_not_started", "lease_not_started"),
    "returned": ("lease_fenced",    "lease_fenced",      "lease_fenced",      "lease_fenced"),
    "starting": ("replayed",        "applied",           "applied",           "applied"),
    "running":  ("replayed",        "differs",           "already_started",   "applied"),
    "stopped":  ("replayed",        "attempt_settled",   "attempt_settled",   "applied"),
    "reported": ("attempt_settled", "attempt_settled",   "content_conflict",  "content_conflict"),
    "decided":  ("attempt_settled", "attempt_settled",   "attempt_settled",   "settled"),
    "dropped":  ("attempt_settled", "attempt_settled",   "attempt_settled",   "settled"),
}  # fmt: skip
COLUMNS: Final = ("starting", "running", "start-failure", "complete")

KEPT: Final = {
    ("running", "attempt_settled"),
    ("start-failure", "attempt_settled"),
    ("start-failure", "content_conflict"),
    ("complete", "settled"),
    ("complete", "content_conflict"),
}
"""What comes too late is kept as evidence; a start tells nothing new of what did start."""


class Reports(Facts):
    """Starting, running, start-failure and complete."""

    def _report(self, worker: str, session: str, call: str, body: Json) -> Json:
        if call == "complete":
            self._witness(worker, body)
        attempt = self._proven(worker, body["lease"], None if call == "complete" else session)
        content = content_of(call, body)
        verdict = self._verdict(attempt, call, content)
        if (call, verdict) in KEPT or (call == "starting" and attempt.situation == "dropped"):
            self._keep(attempt, content)
        if verdict not in ("applied", "replayed", "settled"):
            raise Refused(verdict)
        if verdict == "applied":
            attempt.told[_key(call)] = content
            {"starting": self._start, "running": self._run}.get(call, self._end)(attempt, body)
        return (
            self._completed(attempt, verdict) if call == "complete" else self._acknowledged(attempt, verdict)
        )

    def _witness(self, worker: str, body: Json) -> None:
        """Keep the end of a generation that is over, when it is told by who held it."""
        fence = body["lease"]
        proof = Spent(fence["attempt"], fence["lease_generation"], worker, fence["token"])
        if self.spent.get(fence["offer"]) != proof:
            return
        attempt = self.attempts[fence["attempt"]]
        refusal = self._fence_refusal(attempt, worker, fence)
        if refusal == "lease_fenced" or (refusal is None and attempt.situation == "returned"):
            self._keep(attempt, content_of("complete", body))

    def _proven(self, worker: str, fence: Json, session: str | None) -> Attempt:
        attempt = self.attempts.get(fence["attempt"])
        if attempt is None:
            raise Refused("unknown_attempt")
        refusal = self._fence_refusal(attempt, worker, fence, session)
        if refusal is not None:
            raise Refused(refusal)
        return attempt

    def _verdict(self, attempt: Attempt, call: str, content: Json) -> str:
        # A start has no content beside its key: the table tells its replays, and after the end it is none.
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
            "stop": stop_of(attempt.lease),
        }

    def _completed(self, attempt: Attempt, status: str) -> Json:
        late = attempt.outcome["late"] if attempt.outcome else False
        return {
            "status": status,
            "late": late,
            "attempt_status": attempt.status,
            "run_status": self._run_status(attempt),
        }


def _key(call: str) -> str:
    """Both end an attempt, so they share a natural key."""
    return "end" if call in ("start-failure", "complete") else call


def content_of(call: str, body: Json) -> Json:
    """What a replay must repeat."""
    lease = {name: value for name, value in body.get("lease", {}).items() if name != "lease_version"}
    rest = {name: value for name, value in body.items() if name not in ("request_id", "generation", "lease")}
    return {"call": call, **lease, **rest}
