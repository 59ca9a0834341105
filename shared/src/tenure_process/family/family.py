"""The processes that serve one address for a parent: kept up, asked, and ended together.

The parent takes no connection of theirs and needs no database, so nothing but a signal ends it once all were
ready: a process that ends unasked is started again, after a pause that grows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import structlog
import trio

from tenure_process.address import Address
from tenure_process.exit import ExitCode
from tenure_process.family.ask import ANSWER_S, Answer
from tenure_process.family.child import Child
from tenure_process.family.reservation import Reservation
from tenure_process.usable import pauses

log = structlog.get_logger("tenure.process")

LONGEST_PAUSE_S: Final = 30.0
LIVED_S: Final = 60.0
"""Who lived so long ended for another reason than the one before: the pauses begin anew."""

LOOK_S: Final = 0.1
CUT_S: Final = 2.0
"""What a process has to end after it was cut, before it is killed."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What a parent runs.

    Attributes:
        command: starts one process, with `Handed.arguments` behind it.
        environ: the environment of each.
        count: how many, at least one.
        listen: the address that all of them serve.
        probe_listen: where the parent answers for all.
        stop_budget_s: what they may take to stop; longer than their own budget.
        prefix: of the parent's own metrics.
    """

    command: Sequence[str]
    environ: Mapping[str, str]
    count: int
    listen: Address
    probe_listen: Address
    stop_budget_s: float
    prefix: str


class _Question:
    """What is being asked of all, until `answered`; without `answers` whoever asked was cancelled."""

    def __init__(self) -> None:
        self.answered = trio.Event()
        self.answers: dict[Child, Answer | None] | None = None


class Family:
    """The processes of one parent, and what was asked of them. Holds no nursery."""

    def __init__(self, plan: Plan, reservation: Reservation) -> None:
        self.children = tuple(
            Child(index, plan.command, plan.environ, reservation) for index in range(plan.count)
        )
        self.stop_wanted = trio.Event()
        self.cut_wanted = trio.Event()
        self.was_ready = False
        self._stop_budget_s = plan.stop_budget_s
        self._questions: dict[str, _Question] = {}

    @property
    def code(self) -> ExitCode:
        """The worst of all last ends."""
        return max(child.code for child in self.children)

    async def look_at_all(self, path: str) -> dict[Child, Answer | None]:
        """What each of them shows. Who comes while that is being asked gets the same answer.

        So however many look at the parent, its processes answer one of them at a time.
        """
        while (asked := self._questions.get(path)) is not None:
            await asked.answered.wait()
            if asked.answers is not None:
                return asked.answers
        question = self._questions[path] = _Question()
        try:
            question.answers = await self.ask_all(path)
        finally:
            del self._questions[path]
            question.answered.set()
        return question.answers

    async def ask_all(
        self, path: str, *, method: str = "GET", timeout_s: float = ANSWER_S
    ) -> dict[Child, Answer | None]:
        """What each of them answers, all asked at once; None for one that does not, or is not there."""
        answers: dict[Child, Answer | None] = dict.fromkeys(self.children)

        async def ask_one(child: Child) -> None:
            answers[child] = await child.ask(path, method=method, timeout_s=timeout_s)

        async with trio.open_nursery() as nursery:
            for child in self.children:
                nursery.start_soon(ask_one, child)
        return answers

    async def keep(self, child: Child) -> None:
        """Run a process, again whenever it ends, until the family stops. Cancelling this kills it."""
        resting = pauses(LONGEST_PAUSE_S)
        while not self.stop_wanted.is_set():
            began = trio.current_time()
            code = await self._run(child)
            if self.stop_wanted.is_set():
                return
            log.warning("process_ended", process=child.index, returned=child.returned)
            if not self.was_ready and code in (ExitCode.TEMPORARY, ExitCode.CONFIGURATION):
                self.stop_wanted.set()  # it said why, and so would every other one
                return
            if trio.current_time() - began > LIVED_S:
                resting = pauses(LONGEST_PAUSE_S)
            with trio.move_on_after(next(resting)):
                await self.stop_wanted.wait()

    async def become_ready(self, started: Callable[[], None]) -> None:
        """Wait until all are ready for the first time, or the family stops, and say so."""
        while not self.stop_wanted.is_set():
            answers = await self.look_at_all("/readyz")
            if all(answer and answer.status == 200 for answer in answers.values()):
                self.was_ready = True
                log.info("ready", processes=len(answers))
                started()
                return
            with trio.move_on_after(LOOK_S):
                await self.stop_wanted.wait()

    async def _run(self, child: Child) -> ExitCode:
        try:
            async with child.incarnation(), trio.open_nursery() as nursery:
                nursery.start_soon(self._end_in_order, child)
                await child.wait()
                nursery.cancel_scope.cancel()
        except OSError as error:
            log.warning("process_not_started", process=child.index, reason=str(error))
            child.returned = ExitCode.FAILED
        return child.code

    async def _end_in_order(self, child: Child) -> None:
        """Once a stop is wanted: tell it; at a cut, or when it takes too long, tell it again, and kill it."""
        await self.stop_wanted.wait()
        await child.tell_stop()
        with trio.move_on_after(self._stop_budget_s):
            await self.cut_wanted.wait()
        await child.tell_stop()
        await trio.sleep(CUT_S)
        log.warning("process_killed", process=child.index)
        child.kill()
