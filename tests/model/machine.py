"""Any calls of the protocol in any order, and what happens around them; both sides are compared after each."""

from __future__ import annotations

import random
from typing import ClassVar, Final
from uuid import UUID

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from tenure_contracts.error import CODES
from tenure_contracts.identity import encode_secret
from tests.model.answer import difference, names_of
from tests.model.reference import Reference, Refused, rows_of
from tests.model.state import STARTED, Attempt, Json, Statement
from tests.model.world import OPERATOR, World

LABELS: Final[dict[str, Json]] = {"w1": {}, "w2": {"region": "eu"}}
WORKERS: Final = tuple(LABELS)
SESSIONS: Final = 6
RUNS: Final = 5
TIMES: Final = ("2030-01-01T00:00:00.000000Z", "2030-01-01T00:00:05.000000Z")

PICK: Final = st.integers(0, 31)
RARELY: Final = st.integers(0, 7).map(lambda number: number == 7)
WORKER: Final = st.sampled_from(WORKERS)
DISTORTION: Final = st.sampled_from((None,) * 14 + ("token", "offer", "older", "newer", "version", "attempt"))


class Protocol(RuleBasedStateMachine):
    """One example. `world` is set by a subclass."""

    world: ClassVar[World]

    def __init__(self) -> None:
        super().__init__()
        self.model = Reference()
        self.sent: list[tuple[str, str, str, Json]] = []
        self.offers: list[Json] = []
        self.fences: list[Json] = []
        self.names = random.Random(0)  # noqa: S311 - names, not secrets

    @initialize()
    def begin(self) -> None:
        """A worker, and work for it."""
        self.world.begin()
        self.admit("plain", False)
        self.admit("tried", False)
        self.register("w1", 0, False, False, False)

    # What happens beside the protocol

    @precondition(lambda self: len(self.model.runs) < RUNS)
    @rule(task=st.sampled_from(("plain", "tried", "timed", "there")), worn=RARELY)
    def admit(self, task: str, worn: bool) -> None:
        """One more run; sometimes one that was claimed nearly as often as it may be without a start."""
        claims = 15 if worn else 0
        run, attempt = self._name(), self._name()
        self.world.admit(run, attempt, task, claims)
        self.model.admit(run, attempt, self.world.tasks[task], claims)
        self._compare()

    @rule(seconds=st.sampled_from((5, 10, 15, 30, 60)))
    def wait(self, seconds: int) -> None:
        """Time passes."""
        self.model.now += seconds
        self.world.set_clock(self.model.now)

    @precondition(lambda self: self.model.unfinished())
    @rule(pick=PICK)
    def cancel(self, pick: int) -> None:
        """An operator wants a run to stop."""
        runs = self.model.unfinished()
        run = runs[pick % len(runs)]
        self.world.cancel(run)
        self.model.cancel(run)
        self._compare()

    @precondition(lambda self: self._gone())
    @rule(pick=PICK)
    def lose(self, pick: int) -> None:
        """Recovery learns that a started attempt is gone."""
        attempt = self._gone()[pick % len(self._gone())]
        self.world.lose(attempt.attempt)
        self.model.lose(attempt)
        self._compare()

    @precondition(lambda self: self._gone())
    @rule(pick=PICK, state=st.sampled_from(("running", "stopped")))
    def state(self, pick: int, state: str) -> None:
        """An operator states what became of a started attempt."""
        attempt = self._gone()[pick % len(self._gone())]
        self.world.state(attempt.attempt, state)
        self.model.state(attempt, Statement(OPERATOR, state, {}))
        self._compare()

    @precondition(lambda self: self.model.due())
    @rule(pick=PICK)
    def control(self, pick: int) -> None:
        """A stage of control does what there is to do."""
        stages = self.model.due()
        stage = stages[pick % len(stages)]
        self.world.stage(stage)
        if stage == "recovery":
            self.model.recover()
        elif stage == "cancellation":
            self.model.converge()
        else:
            for run, number in self.model.retry():
                self.model.add_attempt(self.world.attempt_of(run, number), run, number)
        self._compare()

    # The protocol

    @rule(worker=WORKER, pick=PICK, known=RARELY, takeover=st.booleans(), other=RARELY)
    def register(self, worker: str, pick: int, known: bool, takeover: bool, other: bool) -> None:
        """A new session, or one that exists, with its content or another."""
        sessions = list(self.model.sessions)
        known = bool(sessions) and (known or len(sessions) >= SESSIONS)
        session = sessions[-1 - pick % len(sessions)] if known else self._name()
        self._exchange(
            worker if not known or other else self.model.sessions[session].worker,
            session,
            "register",
            {
                "labels": LABELS[worker],
                "executors": ["command"],
                "limit": 3 if other else 2,
                "takeover": takeover,
                "agent": "model",
            },
        )

    @rule(call=st.sampled_from(("heartbeat",) * 2 + ("drain", "offline", "leases")), pick=PICK, wrong=RARELY)
    def touch(self, call: str, pick: int, wrong: bool) -> None:
        """A call about the session alone."""
        self._of_session(call, self._session(pick), {}, wrong=wrong)

    @rule(pick=PICK, fresh=st.integers(0, 2), again=PICK, repeated=st.integers(0, 2), stolen=RARELY)
    def pull(self, pick: int, fresh: int, again: int, repeated: int, stolen: bool) -> None:
        """New offers and old ones together; an old one may come with another token."""
        offers = {offer["offer"]: offer for offer in self._repeated(again, repeated)}
        if stolen and offers:
            offers = {name: {**offer, "token": self._token()} for name, offer in offers.items()}
        new = [{"offer": self._name(), "token": self._token()} for _ in range(fresh or not offers)]
        self.offers += new
        self._of_session("offers", self._session(pick), {"offers": [*offers.values(), *new]})

    @precondition(lambda self: self.fences)
    @rule(pick=PICK, count=st.integers(1, 2), distortion=DISTORTION, shutdown=st.booleans(), elsewhere=RARELY)
    def decline(self, pick: int, count: int, distortion: str | None, shutdown: bool, elsewhere: bool) -> None:
        """Work is given back."""
        fences = self._fences(pick, count, distortion)
        reason = "shutdown" if shutdown else "declined"
        self._of_session("decline", self._holder(fences[0], elsewhere), {"leases": fences, "reason": reason})

    @precondition(lambda self: self.fences)
    @rule(pick=PICK, count=st.integers(1, 2), distortion=DISTORTION, elsewhere=RARELY)
    def renew(self, pick: int, count: int, distortion: str | None, elsewhere: bool) -> None:
        """Leases are renewed."""
        fences = self._fences(pick, count, distortion)
        self._of_session("renew", self._holder(fences[0], elsewhere), {"leases": fences})

    @precondition(lambda self: self.fences)
    @rule(pick=PICK, distortion=DISTORTION, elsewhere=RARELY)
    def starting(self, pick: int, distortion: str | None, elsewhere: bool) -> None:
        """The start barrier."""
        self._report("starting", pick, distortion, elsewhere, {})

    @precondition(lambda self: self.fences)
    @rule(pick=PICK, distortion=DISTORTION, elsewhere=RARELY, other=RARELY, later=RARELY)
    def running(self, pick: int, distortion: str | None, elsewhere: bool, other: bool, later: bool) -> None:
        """A process exists."""
        body = {"executor_handle": f"pid:{1 + other}", "started_at": TIMES[later]}
        self._report("running", pick, distortion, elsewhere, body)

    @precondition(lambda self: self.fences)
    @rule(pick=PICK, distortion=DISTORTION, elsewhere=RARELY, other=RARELY)
    def start_failure(self, pick: int, distortion: str | None, elsewhere: bool, other: bool) -> None:
        """Nothing was spawned."""
        body = {"error": {"code": "other" if other else "not_found", "message": "no such file"}}
        self._report("start-failure", pick, distortion, elsewhere, body)

    @precondition(lambda self: self.fences)
    @rule(
        pick=PICK,
        distortion=DISTORTION,
        elsewhere=RARELY,
        end=st.sampled_from(("succeeded", "failed", "deadline")),
        exit_code=st.sampled_from((1, 64, 75)),
        stop_answer=st.sampled_from((None, "stopped", "ignored")),
    )
    def complete(
        self,
        pick: int,
        distortion: str | None,
        elsewhere: bool,
        end: str,
        exit_code: int,
        stop_answer: str | None,
    ) -> None:
        """The end."""
        body = {
            "outcome": "succeeded" if end == "succeeded" else "failed",
            "exit_code": 0 if end == "succeeded" else exit_code,
            "error": {"code": "deadline_exceeded", "message": ""} if end == "deadline" else None,
            "stop_answer": stop_answer,
        }
        self._report("complete", pick, distortion, elsewhere, body)

    @precondition(lambda self: self.fences)
    @rule(
        pick=PICK,
        distortion=DISTORTION,
        elsewhere=RARELY,
        state=st.sampled_from(("running", "stopped")),
        sequence=st.sampled_from((1, 1, 1, 0, 0, 2)),
        other=RARELY,
    )
    def attest(
        self, pick: int, distortion: str | None, elsewhere: bool, state: str, sequence: int, other: bool
    ) -> None:
        """A statement; `sequence` is relative to the last one. The newest session of the worker makes it."""
        (fence,) = self._fences(pick, 1, distortion)
        fence.pop("lease_version")
        attempt = self.model.attempts.get(fence["attempt"])
        last = len(attempt.lease.statements) if attempt else 0
        body = {
            **fence,
            "sequence": max(1, last + sequence),
            "state": state,
            "observed_at": TIMES[other],
            "scope": "group",
        }
        holder = self._holder(fence, elsewhere)
        self._exchange(self.model.sessions[holder].worker, holder, "attest", body)

    @precondition(lambda self: self.sent)
    @rule(pick=st.integers(0, 255))
    def replay(self, pick: int) -> None:
        """Something that was sent before comes again, word for word."""
        self._exchange(*self.sent[-1 - pick % len(self.sent)])

    # How rules find their arguments

    def _name(self) -> str:
        return str(UUID(int=self.names.getrandbits(128), version=4))

    def _token(self) -> str:
        return encode_secret(self.names.randbytes(32))

    def _session(self, pick: int) -> str:
        """Any, the newest first."""
        return list(self.model.sessions)[-1 - pick % len(self.model.sessions)]

    def _repeated(self, pick: int, count: int) -> list[Json]:
        newest = self.offers[::-1]
        return [newest[(pick + number) % len(newest)] for number in range(count) if newest]

    def _gone(self) -> list[Attempt]:
        """Started attempts whose lease expired."""
        return [
            each
            for each in self.model.attempts.values()
            if each.status in STARTED and each.lease.expires_at <= self.model.now
        ]

    def _fences(self, pick: int, count: int, distortion: str | None) -> list[Json]:
        """Fences of different attempts that were given out, the newest first; the first may be distorted."""
        newest = self.fences[::-1]
        picked = [dict(newest[(pick + number) % len(newest)]) for number in range(count)]
        first = picked[0]
        lease = self.model.attempts[first["attempt"]].lease
        changes = {
            "token": {"token": self._token()},
            "offer": {"offer": self._name()},
            "older": {"lease_generation": max(1, first["lease_generation"] - 1)},
            "newer": {"lease_generation": first["lease_generation"] + 1},
            "version": {"lease_version": lease.version + 1},
            "attempt": {"attempt": self._name()},
        }
        first |= changes.get(distortion or "", {})
        return list({fence["attempt"]: fence for fence in picked[::-1]}.values())[::-1]

    def _holder(self, fence: Json, elsewhere: bool) -> str:
        """The session that holds the lease of a fence; or another."""
        attempt = self.model.attempts.get(fence["attempt"])
        holder = attempt.lease.session if attempt else self._session(0)
        if not elsewhere:
            return holder
        return next((session for session in reversed(self.model.sessions) if session != holder), holder)

    # Both sides

    def _report(self, call: str, pick: int, distortion: str | None, elsewhere: bool, body: Json) -> None:
        (fence,) = self._fences(pick, 1, distortion)
        self._of_session(call, self._holder(fence, elsewhere), {"lease": fence, **body})

    def _of_session(self, call: str, session: str, body: Json, *, wrong: bool = False) -> None:
        known = self.model.sessions[session]
        self._exchange(known.worker, session, call, {"generation": known.generation + wrong, **body})

    def _exchange(self, worker: str, session: str, call: str, body: Json) -> None:
        body = {"request_id": self._name(), **body}
        self.sent.append((worker, session, call, body))
        status, answer = self.world.call(worker, session, call, body)
        try:
            expected = self.model.answer(worker, session, call, body)
            code = 200
        except Refused as refusal:
            rule_of = CODES[refusal.code]
            code = rule_of.status
            expected = {"code": refusal.code, "disposition": rule_of.disposition, **refusal.members}
        assert (status, list(difference(expected, answer))) == (code, []), f"{call}: {answer}"
        self.world.note(call, [expected["code"]] if code != 200 else names_of(call, expected))
        self._learn(body, expected.get("offered", ()))
        self._compare()

    def _learn(self, body: Json, offered: tuple[Json, ...]) -> None:
        """What a worker writes down of a pull."""
        tokens = {offer["offer"]: offer["token"] for offer in body.get("offers", ())}
        known = [fence["offer"] for fence in self.fences]
        self.fences += [
            {
                "attempt": each["attempt"]["attempt"],
                "offer": each["offer"],
                "token": tokens[each["offer"]],
                "lease_generation": each["lease"]["lease_generation"],
                "lease_version": each["lease"]["lease_version"],
            }
            for each in offered
            if each["offer"] not in known
        ]

    def _compare(self) -> None:
        self.world.steps += 1
        assert list(difference(rows_of(self.model), self.world.look())) == []
