"""Any calls of the protocol in any order, and what happens around them."""

from __future__ import annotations

from typing import Final

from hypothesis.stateful import initialize, precondition, rule

from tests.model.chance import CHANCE, Chance
from tests.model.hands import TIMES, Hands
from tests.model.state import Json, Statement
from tests.model.world import OPERATOR

LABELS: Final[dict[str, Json]] = {"w1": {}, "w2": {"region": "eu"}}
WORKERS: Final = tuple(LABELS)
TASKS: Final = ("tried", "timed", "tried", "timed", "plain", "there")
CLAIMED: Final = (0, 0, 15)
"""How often a run was claimed without a start when it comes: sometimes nearly as often as it may be."""

SESSIONS: Final = 6
RUNS: Final = 5
WAITS: Final = (5, 5, 10, 10, 15, 30, 60)
TIMEOUT_S: Final = 10
"""The time that tasks have, if it is limited."""

TOO_LATE: Final = {"code": "deadline_exceeded", "message": ""}
LATE_END: Final = ("failed", TOO_LATE)
ENDS: Final = (("succeeded", None), LATE_END, ("failed", None), LATE_END)
EXIT_CODES: Final = (1, 64, 75)
STOP_ANSWERS: Final = (None, "stopped", "ignored")


class Protocol(Hands):
    """What may happen; after each of it, both sides are compared."""

    @initialize(chance=CHANCE)
    def begin(self, chance: Chance) -> None:
        """Two workers, and work that they hold and may have begun."""
        self.world.begin()
        for _ in range(2 + chance.below(2)):
            self._admit(chance.of(TASKS), chance.of(CLAIMED))
        for worker in WORKERS:
            session = self._name()
            self._register(worker, session, LABELS[worker], 2)
            self._pull(session, [], 1)
        for fence in self.fences:
            for _ in range(chance.below(3)):
                self._proceed(fence)

    # What happens beside the protocol

    @precondition(lambda self: len(self.model.runs) < RUNS)
    @rule(chance=CHANCE)
    def admit(self, chance: Chance) -> None:
        """One more run."""
        self._admit(chance.of(TASKS), chance.of(CLAIMED))

    @rule(chance=CHANCE)
    def wait(self, chance: Chance) -> None:
        """Time passes; control may have its turn at once."""
        self._wait(chance.of(WAITS))
        if chance.often():
            for stage in self.model.due():
                self._control(stage)

    @precondition(lambda self: self.model.unfinished())
    @rule(chance=CHANCE)
    def cancel(self, chance: Chance) -> None:
        """An operator wants a run to stop."""
        self._cancel(chance.of(self.model.unfinished()))

    @precondition(lambda self: self._gone())
    @rule(chance=CHANCE)
    def lose(self, chance: Chance) -> None:
        """Recovery learns that a started attempt is gone."""
        attempt = chance.of(self._gone())
        self.world.lose(attempt.attempt)
        self.model.lose(attempt)
        self._happened("lose")

    @precondition(lambda self: self._gone())
    @rule(chance=CHANCE)
    def state(self, chance: Chance) -> None:
        """An operator states what became of a started attempt."""
        attempt, state = chance.of(self._gone()), chance.of(("stopped", "running"))
        self.world.state(attempt.attempt, state)
        self.model.state(attempt, Statement(OPERATOR, state, {}))
        self._happened("state")

    @precondition(lambda self: self.model.due())
    @rule(chance=CHANCE)
    def control(self, chance: Chance) -> None:
        """A stage of control does what there is to do."""
        self._control(chance.of(self.model.due()))

    # The protocol

    @rule(chance=CHANCE)
    def register(self, chance: Chance) -> None:
        """A new session, or one that exists, with its content or another."""
        worker = chance.of(WORKERS)
        session = self._name()
        if len(self.model.sessions) >= SESSIONS or chance.below(3) == 2:
            session = self._session(chance)
            worker = worker if chance.rarely() else self.model.sessions[session].worker
        self._register(worker, session, LABELS[worker], 3 if chance.rarely() else 2, takeover=chance.often())

    @rule(chance=CHANCE)
    def touch(self, chance: Chance) -> None:
        """A call about the session alone."""
        call = chance.of(("heartbeat", "leases", "drain", "heartbeat", "leases", "drain", "offline"))
        self._of_session(call, self._session(chance), {}, wrong=chance.rarely())

    @rule(chance=CHANCE)
    def pull(self, chance: Chance) -> None:
        """New offers and old ones together; an old one may come with another token."""
        for _ in range(1 + chance.below(3)):
            session, fresh = self._session(chance), (1, 0, 2)[chance.below(3)]
            repeated = {offer["offer"]: offer for offer in self._repeated(chance)}
            if chance.rarely():
                repeated = {name: {**offer, "token": self._token()} for name, offer in repeated.items()}
            self._pull(session, list(repeated.values()), fresh)

    @precondition(lambda self: self.fences)
    @rule(chance=CHANCE)
    def decline(self, chance: Chance) -> None:
        """Work is given back, and may be claimed again at once."""
        fences = self._fences(chance, 1 + chance.below(2), self._aimed("decline", chance))
        reason = chance.of(("declined", "shutdown"))
        self._of_session("decline", self._holder(fences[0], chance), {"leases": fences, "reason": reason})
        if chance.often():
            self._pull(self._session(chance), [], 1)

    @precondition(lambda self: self.fences)
    @rule(chance=CHANCE)
    def renew(self, chance: Chance) -> None:
        """Leases are renewed."""
        fences = self._fences(chance, 1 + chance.below(2))
        self._of_session("renew", self._holder(fences[0], chance), {"leases": fences})

    @precondition(lambda self: self.fences)
    @rule(chance=CHANCE)
    def starting(self, chance: Chance) -> None:
        """The start barrier."""
        for _ in range(1 + chance.below(3)):
            self._report("starting", chance, {})

    @precondition(lambda self: self.fences)
    @rule(chance=CHANCE)
    def running(self, chance: Chance) -> None:
        """A process exists."""
        for _ in range(1 + chance.below(3)):
            handle = f"pid:{2 if chance.rarely() else 1}"
            body = {"executor_handle": handle, "started_at": TIMES[chance.rarely()]}
            self._report("running", chance, body)

    @precondition(lambda self: self.fences)
    @rule(chance=CHANCE)
    def start_failure(self, chance: Chance) -> None:
        """Nothing was spawned."""
        for _ in range(1 + chance.below(3)):
            code = "other" if chance.rarely() else "not_found"
            self._report("start-failure", chance, {"error": {"code": code, "message": "no such file"}})

    @precondition(lambda self: self.fences)
    @rule(chance=CHANCE)
    def complete(self, chance: Chance) -> None:
        """The end."""
        for _ in range(1 + chance.below(3)):
            outcome, error = chance.of(ENDS)
            code = 0 if outcome == "succeeded" else chance.of(EXIT_CODES)
            ended = {"outcome": outcome, "exit_code": code, "error": error}
            self._report("complete", chance, {**ended, "stop_answer": chance.of(STOP_ANSWERS)})

    @precondition(lambda self: self.fences)
    @rule(chance=CHANCE)
    def attest(self, chance: Chance) -> None:
        """A statement: the next one, the last one again, or one too far."""
        (fence,) = self._fences(chance, 1, self._aimed("attest", chance))
        del fence["lease_version"]
        attempt = self.model.attempts.get(fence["attempt"])
        last = len(attempt.lease.statements) if attempt else 0
        body = {
            **fence,
            "sequence": max(1, last + chance.of((1, 1, 1, 0, 0, 2))),
            "state": chance.of(("running", "stopped")),
            "observed_at": TIMES[chance.rarely()],
            "scope": "group",
        }
        # Often the newest session of the worker, whoever holds the lease: that is how work is adopted.
        holder = self._holder(fence, chance)
        worker = self.model.sessions[holder].worker
        session = self.model.current(worker) if chance.often() else holder
        sender = chance.of(WORKERS) if chance.rarely() else worker
        self._exchange(sender, session or holder, "attest", body)

    @precondition(lambda self: self.fences)
    @rule(chance=CHANCE)
    def proceed(self, chance: Chance) -> None:
        """The holder of a lease does what comes next, at times slowly."""
        for _ in range(1 + chance.below(3)):
            if chance.below(4) == 3:
                self._wait(TIMEOUT_S)
            self._proceed(chance.front(self._newest_fences()))

    @precondition(lambda self: self.fences)
    @rule(chance=CHANCE)
    def exchange(self, chance: Chance) -> None:
        """What comes next for several runs, in one request."""
        of_run = {self.model.attempts[fence["attempt"]].run: fence for fence in self._newest_fences()[::-1]}
        items = []
        for fence in list(of_run.values())[::-1][: 2 + chance.below(3)]:
            call, body = ("starting", {"lease": fence}) if chance.rarely() else self._next(fence)
            items.append({"call": call, "request_id": self._name(), **body})
        self._of_session("exchange", self._holder(self._newest_fences()[0], chance), {"items": items})

    @precondition(lambda self: self.sent)
    @rule(chance=CHANCE)
    def replay(self, chance: Chance) -> None:
        """Some of what was sent before comes again, word for word."""
        for _ in range(1 + chance.below(3)):
            self._exchange(*chance.of(self.sent[::-1]))
