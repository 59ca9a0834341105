"""One attempt, from its accepted offer to its stored report: a task of its own that nothing else waits for.

The journal is written before each step, so at every line a killed agent leaves a record that says what may
have happened and what cannot.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import anyio
import msgspec
import structlog

from tenure_contracts.wire.field import Instant
from tenure_contracts.wire.lease import Activated, Running, Starting
from tenure_contracts.wire.offer import Decline, Declined, Offered
from tenure_worker.board import Held
from tenure_worker.client import Refused
from tenure_worker.environment import command_environment
from tenure_worker.execution import execute
from tenure_worker.journal import Lease, Record, Result, State
from tenure_worker.launcher import Command, Launcher, Started, prepare
from tenure_worker.machine import identify
from tenure_worker.outcome import not_spawned
from tenure_worker.output import excerpt, log_tail, result_value
from tenure_worker.report import report
from tenure_worker.session import Session, new_request_id, on_disk

log = structlog.get_logger("tenure.worker")

DeclineReason = Literal["declined", "shutdown"]

RENEWAL_WAIT_S = 5.0


async def run_attempt(session: Session, record: Record, offered: Offered) -> None:
    """Run one offered attempt to its end. A fault of its own ends this attempt's task alone, visibly.

    Cancelled: a running command goes on, and the journal tells the next process about it.
    """
    lease = Lease(
        attempt=offered.attempt.attempt,
        lease_generation=offered.lease.lease_generation,
        lease_version=offered.lease.lease_version,
    )
    held = Held(offered.offer, record.token, lease, grace_s=offered.plan.kill_grace_s)
    attempt = Attempt(session, held, offered, record)
    session.board.add(held)
    try:
        with session.board.working():
            await attempt.run()
    except Exception:  # one attempt's fault must not end the renewals of all others
        log.exception("attempt_failed_inside", attempt=str(lease.attempt))
    finally:
        session.board.remove(held)


@dataclass
class Attempt:
    """The state of one attempt's task; `record` is what the journal says, or would say on a healthy disk."""

    session: Session
    held: Held
    offered: Offered
    record: Record

    async def run(self) -> None:
        """Accept, start, execute, report."""
        if not await self._is_accepted() or not await self._is_begun():
            return
        barrier = await self._pass_barrier()
        if barrier is None:
            return
        self.held.note_version(barrier.lease_version)
        self.held.note_stop(barrier.stop)
        result = await self._execute(_seconds_left(barrier))
        await self._note("finished", result=await on_disk(lambda: self._with_output(result)))
        await report(self.session, self.record, is_own=True)

    async def _is_accepted(self) -> bool:
        if not can_execute(self.offered):
            await self._give_back("declined")
            return False
        return await self._is_journalled("accepted", lease=self.held.lease)

    async def _is_begun(self) -> bool:
        if self.session.ending.draining.is_set():
            await self._give_back("shutdown")
            return False
        return await self._is_journalled("starting")

    async def _is_journalled(self, state: State, **facts: object) -> bool:
        """Journal a step before the start; what cannot be journalled is not started but given back."""
        record = self.record.advance(state, **facts)
        if await self.session.write(record):
            self.record = record
            return True
        await self._give_back("declined")
        return False

    async def _give_back(self, reason: DeclineReason) -> None:
        await give_back(self.session, [self.held], reason)
        await self.session.forget(self.record.offer)

    async def _pass_barrier(self) -> Activated | None:
        """Cross the start barrier; None when it stays closed, and then nothing was started."""
        while True:
            message = Starting(
                request_id=new_request_id(), generation=self.session.generation, lease=self.held.fence()
            )
            try:
                return await self.session.client.insist("starting", message, Activated)
            except Refused as refusal:
                self.session.note_refusal(refusal)
                log.warning("start_refused", attempt=str(self.held.lease.attempt), code=refusal.code)
                if refusal.disposition != "refresh" or self.held.interrupted.is_set():
                    await self._give_up(refusal)
                    return None
            await self._wait_renewed()

    async def _give_up(self, refusal: Refused) -> None:
        """Obey a refused start; one that says the request is wrong keeps its record for a person to read."""
        if refusal.disposition != "fix":
            await self.session.forget(self.record.offer)
            return
        journal, reason = self.session.journal, f"the start was refused: {refusal.code}"
        await on_disk(lambda: journal.set_aside(self.record.offer, reason))

    async def _wait_renewed(self) -> None:
        self.session.board.renewal_due.ring()
        with anyio.move_on_after(RENEWAL_WAIT_S):
            await self.held.renewed.wait()

    async def _execute(self, seconds_left: float | None) -> Result:
        if self.held.interrupted.is_set() or self.session.ending.stopping.is_set():
            return not_spawned(
                "not_spawned", "The attempt was to stop before it was started.", self.held.stop
            )
        deadline = None if seconds_left is None else anyio.current_time() + seconds_left
        try:
            launcher = await on_disk(self._prepare)
        except (OSError, ValueError) as error:
            return not_spawned("spawn_failed", f"No launcher could be created: {error}.")
        try:
            return await self._launch(launcher, deadline)
        finally:
            launcher.close()

    async def _launch(self, launcher: Launcher, deadline: float | None) -> Result:
        record = self.record.advance(
            "launching", launcher=identify(launcher.pid, self.session.journal.machine)
        )
        if not await self.session.write(record):
            return not_spawned("not_spawned", "The start could not be journalled.")
        self.record = record
        launcher.go()
        return await execute(self, launcher, deadline)

    def _prepare(self) -> Launcher:
        plan = self.offered.plan
        folder = self.session.journal.attempt_folder(self.record.offer)
        environment = command_environment(self.session.settings.inherited, self.offered, folder / "output")
        command = Command(argv=plan.argv or (), env=environment, cwd=plan.cwd or ".", stdin=plan.stdin)
        return prepare(folder, command)

    async def note_running(self, started: Started) -> None:
        """Journal that the command was executed."""
        await self._note("running", started=started)

    async def acknowledge(self, started: Started) -> None:
        """Tell the ingress that the command runs. A refusal changes nothing: renewal tells what is wanted."""
        message = Running(
            request_id=new_request_id(),
            generation=self.session.generation,
            lease=self.held.fence(),
            executor_handle=f"session:{started.session}:{started.start_ticks}",
            started_at=Instant.of(started.at),
        )
        try:
            answer = await self.session.client.insist("running", message, Activated)
        except Refused as refusal:
            self.session.note_refusal(refusal)
            log.warning("running_refused", attempt=str(self.held.lease.attempt), code=refusal.code)
            return
        self.held.note_version(answer.lease_version)
        self.held.note_stop(answer.stop)

    async def _note(self, state: State, **facts: object) -> None:
        """Journal a step after the start. The receipt knows it too, so a full disk stops nothing."""
        self.record = self.record.advance(state, lease=self.held.lease, **facts)
        await self.session.write(self.record)

    def _with_output(self, result: Result) -> Result:
        return with_output(self.session, self.record, result)


def can_execute(offered: Offered) -> bool:
    """Whether this agent knows how to execute a plan: a command without secrets."""
    plan = offered.plan
    return plan.executor == "command" and bool(plan.argv) and not plan.secrets


def with_output(session: Session, record: Record, result: Result) -> Result:
    """Add the end of the command's output, and its result value, to what is reported. Blocking."""
    if not result.spawned:
        return result
    folder = session.journal.attempt_folder(record.offer)
    tail = log_tail(excerpt(folder / "stdout"), excerpt(folder / "stderr"))
    return msgspec.structs.replace(result, log=tail, output=result_value(folder / "output"))


async def give_back(session: Session, held: list[Held], reason: DeclineReason) -> None:
    """Decline unstarted leases, so that others get the work at once; a refusal means they are gone anyway."""
    message = Decline(
        request_id=new_request_id(),
        generation=session.generation,
        leases=tuple(item.fence() for item in held),
        reason=reason,
    )
    try:
        await session.client.insist("decline", message, Declined)
    except Refused as refusal:
        session.note_refusal(refusal)
        log.warning("decline_refused", leases=len(held), code=refusal.code)


def _seconds_left(barrier: Activated) -> float | None:
    """How long the command may run: the ingress told both times, so no clock of this machine matters."""
    if barrier.deadline_at is None:
        return None
    return (barrier.deadline_at - barrier.server_time).total_seconds()
