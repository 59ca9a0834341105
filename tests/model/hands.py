"""What the rules act with: how they find their arguments, and how both sides are asked and compared."""

from __future__ import annotations

import random
from typing import ClassVar, Final
from uuid import UUID

from hypothesis import note
from hypothesis.stateful import RuleBasedStateMachine, invariant

from tenure_contracts.identity import encode_secret
from tests.model.answer import difference, names_of
from tests.model.chance import Chance
from tests.model.facts import LEASE_S
from tests.model.queue import CLAIMS
from tests.model.reference import Reference, rows_of
from tests.model.state import STARTED, Attempt, Json
from tests.model.world import World

TIMES: Final = ("2030-01-01T00:00:00.000000Z", "2030-01-01T00:00:05.000000Z")
DISTORTIONS: Final = (None,) * 14 + ("token", "offer", "older", "newer", "version", "attempt")

NEXT: Final[dict[str, tuple[str, Json]]] = {
    "held": ("starting", {}),
    "starting": ("running", {"executor_handle": "pid:1", "started_at": TIMES[0]}),
    "running": ("complete", {"outcome": "succeeded", "exit_code": 0, "error": None, "stop_answer": None}),
    "stopped": ("complete", {"outcome": "failed", "exit_code": 1, "error": None, "stop_answer": "stopped"}),
}
"""What the holder of a lease does next."""

AIMS: Final = {
    "decline": ("held",),
    "starting": ("held",),
    "running": ("starting", "running"),
    "start-failure": ("starting",),
    "complete": ("starting", "running", "stopped"),
    "attest": ("starting", "running", "stopped"),
}
"""Where a call changes something, or is told from another one."""


class Hands(RuleBasedStateMachine):
    """One example, and what its rules act with. `world` is set by a subclass."""

    world: ClassVar[World]

    def __init__(self) -> None:
        super().__init__()
        self.model = Reference()
        self.sent: list[tuple[str, str, str, Json]] = []
        self.offers: list[Json] = []
        self.fences: list[Json] = []
        self.names = random.Random(0)

    # How rules find their arguments

    def _name(self) -> str:
        return str(UUID(int=self.names.getrandbits(128), version=4))

    def _token(self) -> str:
        return encode_secret(self.names.randbytes(32))

    def _session(self, chance: Chance) -> str:
        """Any, those first that nobody replaced."""
        newest = list(reversed(self.model.sessions))
        return chance.front(sorted(newest, key=lambda each: not self.model.sessions[each].live))

    def _repeated(self, chance: Chance) -> list[Json]:
        """Up to two offers; at times one whose attempt was claimed again under another."""
        newest = self.offers[::-1]
        spent = [(offer, self.model.spent.get(offer["offer"])) for offer in newest]
        over = [offer for offer, one in spent if one and one.generation < self._generation(one.attempt)]
        return [
            chance.front(over if over and chance.often() else newest)
            for _ in range(chance.below(3))
            if newest
        ]

    def _generation(self, attempt: str) -> int:
        return self.model.attempts[attempt].lease.generation

    def _gone(self) -> list[Attempt]:
        """Started attempts whose lease expired."""
        now = self.model.now
        return [
            each
            for each in self.model.attempts.values()
            if each.status in STARTED and each.lease.expires_at <= now
        ]

    def _newest_fences(self) -> list[Json]:
        """Those that were given out, the newest first, and live ones before others."""
        newest = self.fences[::-1]
        return sorted(newest, key=lambda fence: not self._is_live(fence))

    def _is_live(self, fence: Json) -> bool:
        attempt = self.model.attempts[fence["attempt"]]
        return fence["lease_generation"] == attempt.lease.generation and attempt.situation in NEXT

    def _aimed(self, call: str, chance: Chance) -> list[Json]:
        """Every other time only those under which this call changes something, if there are any."""
        newest = self._newest_fences()
        apt = [each for each in newest if self.model.attempts[each["attempt"]].situation in AIMS[call]]
        return apt if apt and chance.often() else newest

    def _fences(self, chance: Chance, count: int, among: list[Json] | None = None) -> list[Json]:
        """Fences of different attempts; the first may be distorted."""
        among = among or self._newest_fences()
        first, *others = (dict(chance.front(among)) for _ in range(count))
        first |= self._distorted(first, chance.of(DISTORTIONS))
        return [first, *(fence for fence in others if fence["attempt"] != first["attempt"])]

    def _distorted(self, fence: Json, distortion: str | None) -> Json:
        match distortion:
            case "token":
                return {"token": self._token()}
            case "offer" | "attempt":
                return {distortion: self._name()}
            case "older" | "newer":
                step = 1 if distortion == "newer" else -1
                return {"lease_generation": max(1, fence["lease_generation"] + step)}
            case "version":
                return {"lease_version": self.model.attempts[fence["attempt"]].lease.version + 1}
        return {}

    def _holder(self, fence: Json, chance: Chance | None = None) -> str:
        """The session that holds the lease of a fence; by chance another."""
        attempt = self.model.attempts.get(fence["attempt"])
        newest = list(reversed(self.model.sessions))
        holder = attempt.lease.session if attempt else newest[0]
        if chance is None or not chance.rarely():
            return holder
        return next((session for session in newest if session != holder), holder)

    # Both sides

    def _admit(self, task: str, claims: int) -> None:
        run, attempt = self._name(), self._name()
        self.world.admit(run, attempt, task, claims)
        self.model.admit(run, attempt, self.world.tasks[task], claims)
        self._happened()

    def _wait(self, seconds: int) -> None:
        self.model.now += seconds
        self.world.set_clock(self.model.now)
        self._happened()

    def _cancel(self, run: str) -> None:
        self.world.cancel(run)
        self.model.cancel(run)
        self._happened("cancel")

    def _control(self, stage: str) -> None:
        self.world.stage(stage)
        for run, number in self.model.stage(stage):
            self.model.add_attempt(self.world.attempt_of(run, number), run, number)
        self._happened(stage)

    def _happened(self, *beside: str) -> None:
        """Count what was no call."""
        self.world.steps += 1
        self.world.note("beside", beside)

    def _register(
        self, worker: str, session: str, labels: Json, limit: int, *, takeover: bool = False
    ) -> None:
        body = {
            "executors": ["command"],
            "labels": labels,
            "limit": limit,
            "takeover": takeover,
            "agent": "model",
        }
        self._exchange(worker, session, "register", body)

    def _pull(self, session: str, repeated: list[Json], fresh: int) -> None:
        new = [{"offer": self._name(), "token": self._token()} for _ in range(fresh or not repeated)]
        self.offers += new
        self._of_session("offers", session, {"offers": [*repeated, *new]})

    def _proceed(self, fence: Json) -> None:
        call, body = self._next(fence)
        self._of_session(call, self._holder(fence), body)

    def _next(self, fence: Json) -> tuple[str, Json]:
        """The call that comes next under a fence, and its body."""
        attempt = self.model.attempts[fence["attempt"]]
        late = attempt.deadline_at is not None and attempt.deadline_at <= self.model.now
        situation = "stopped" if attempt.situation == "running" and attempt.lease.stop else attempt.situation
        call, body = ("renew", {}) if late and not attempt.lease.stop else NEXT.get(situation, ("renew", {}))
        return call, {**({"leases": [fence]} if call == "renew" else {"lease": fence}), **body}

    def _report(self, call: str, chance: Chance, body: Json) -> None:
        (fence,) = self._fences(chance, 1, self._aimed(call, chance))
        if chance.rarely():
            self._meanwhile(fence["attempt"], chance)
        wrong = chance.below(32) == 31
        self._of_session(call, self._holder(fence, chance), {"lease": fence, **body}, wrong=wrong)

    def _meanwhile(self, attempt: str, chance: Chance) -> None:
        """What a report about this attempt comes too late for."""
        known = self.model.attempts.get(attempt)
        if known and known.run in self.model.unfinished() and chance.often():
            self._cancel(known.run)
        else:
            self._wait(LEASE_S)

    def _of_session(self, call: str, session: str, body: Json, *, wrong: bool = False) -> None:
        known = self.model.sessions[session]
        self._exchange(known.worker, session, call, {"generation": known.generation + wrong, **body})

    def _exchange(self, worker: str, session: str, call: str, body: Json) -> None:
        body = {"request_id": self._name(), **body}
        self.sent.append((worker, session, call, body))
        status, answer = self.world.call(worker, session, call, body)
        predicted, expected = self.model.judge(worker, session, call, body)
        note(f"    {call} {status} {answer.get('code') or answer.get('status', '')}")
        faults = list(difference({"http": predicted, **expected}, {"http": status, **answer}, call))
        assert not faults, (faults, answer)
        self.world.note(call, names_of(call, predicted, expected))
        for item, verdict in zip(body.get("items", ()), expected.get("items", ()), strict=True):
            name, told = item["call"], verdict.get("body") or verdict["problem"]
            self.world.note(name, names_of(name, verdict["status"], told))
        self._learn(body, expected.get("offered", ()))
        self.world.steps += len(body.get("items", (1,)))

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

    @invariant()
    def both_sides_agree(self) -> None:
        """Compare the rows."""
        worn_out = any(run.status == "failed" and run.claims == CLAIMS for run in self.model.runs.values())
        self.world.note("beside", ["never_started"] if worn_out else [])
        faults = list(difference(rows_of(self.model), self.world.look(), "rows"))
        assert not faults, faults
