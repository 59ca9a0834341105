"""What others do to the same rows: an operator, and the stages of control."""

from __future__ import annotations

from tests.model.queue import Queue
from tests.model.report import Reports
from tests.model.state import RUN_ENDED, STARTED, Attempt, Run


class Beside(Queue, Reports):
    """Cancel, recovery, retry and convergence."""

    def unfinished(self) -> list[str]:
        """The runs that may still be cancelled, and are not."""
        return [id_ for id_, run in self.runs.items() if run.cancel is None and run.status not in RUN_ENDED]

    def cancel(self, run: str) -> None:
        """An operator's intent, with its copy on the lease."""
        self.runs[run].cancel = "user"
        attempt = self.active(run)
        if attempt is not None and attempt.lease.state == "leased" and attempt.lease.stop is None:
            attempt.lease.stop = ("user", self.now)

    def stage(self, name: str) -> list[tuple[str, int]]:
        """A pass of one stage; the runs that get an attempt, each with its number."""
        if name == "retry":
            return self.retry()
        {"recovery": self.recover, "cancellation": self.converge}[name]()
        return []

    def due(self) -> list[str]:
        """The stages of control that would change something now."""
        expired = any(self._is_expired(each) for each in self.attempts.values())
        waiting = any(run.status == "lost" or self._is_due(run) for run in self.runs.values())
        cancelled = any(run.cancel and run.status not in RUN_ENDED for run in self.runs.values())
        stages = {"recovery": expired, "retry": waiting, "cancellation": cancelled}
        return [stage for stage, wanted in stages.items() if wanted]

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
            if self._is_expired(attempt):
                self._return_to_queue(attempt, "lease_expired")

    def _is_expired(self, attempt: Attempt) -> bool:
        return attempt.situation == "held" and attempt.lease.expires_at <= self.now

    def lose(self, attempt: Attempt) -> None:
        """Recovery has proof that a started attempt with an expired lease is gone."""
        attempt.status = "lost"
        self._end_lease(attempt, "released", "lease_expired")
        self._move(attempt, "lost", events=2)

    def retry(self) -> list[tuple[str, int]]:
        """The policy of what was lost, then what is due: the runs that get an attempt, with its number."""
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

    def _is_due(self, run: Run) -> bool:
        due = run.next_attempt_at is not None and run.next_attempt_at <= self.now
        return run.status == "retry_wait" and run.cancel is None and due
