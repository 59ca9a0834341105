"""The agent: one worker process, from its journal's lock to its exit code.

    signals
    └─ renewal, heartbeat                         stop last
       └─ reconciliation, attempts                finish within the drain budget
          └─ pulling                              stops first

A first signal drains: pulling stops, what is unstarted is given back, what runs goes on within the budget. A
second one stops the commands and reports them. A third one leaves at once; the launchers stay, and the next
process on this journal tells what became of them.

An operator may ask for a drain as well, which any answer tells. Then there is no hurry: nothing more is
pulled, what runs goes on to its end, and the agent ends with 0.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import anyio
import structlog
from anyio.abc import TaskStatus

from tenure_contracts.wire.offer import Offered
from tenure_contracts.wire.session import Registered
from tenure_process.exit import ExitCode
from tenure_worker.attempt import run_attempt
from tenure_worker.board import Board
from tenure_worker.client import Client, open_client
from tenure_worker.credential import Credential
from tenure_worker.error import ConfigurationError, WorkerError
from tenure_worker.journal import Journal, Record, open_journal
from tenure_worker.pull import Offers
from tenure_worker.reconcile import is_unspent, occupies_slot, settle
from tenure_worker.renewal import renew_forever
from tenure_worker.session import (
    FAREWELL_S,
    Ending,
    Session,
    beat_forever,
    new_session_id,
    register,
    say_drain,
    say_offline,
)
from tenure_worker.settings import Settings
from tenure_worker.wait import wait_first

log = structlog.get_logger("tenure.worker")

# Beside the slots: a pull, a heartbeat and a farewell may each wait for an answer.
SPARE_CONNECTIONS = 4


async def run_agent(
    settings: Settings,
    *,
    signals: AsyncIterator[int],
    task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED,
) -> int:
    """Run one worker until it is told to go; returns the exit code.

    0: asked to stop, and nothing is left behind. 1: something was still running or unreported when the
    budget ended (the journal knows it). 75: the session was taken over by another process of this name, or
    the journal is in use. 78: an operator has to change something; the log says what.
    `task_status.started()` is called once the session is registered. Cancelling is a crash: commands go on,
    the journal is whole.
    """
    ending = Ending()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_obey_signals, signals, ending)
        code = await _run(settings, ending, task_status)
        tasks.cancel_scope.cancel()
    log.info("worker_ended", worker=settings.name, exit_code=code)
    return code


async def _obey_signals(signals: AsyncIterator[int], ending: Ending) -> None:
    steps = iter((ending.draining, ending.stopping, ending.cut))
    async for number in signals:
        log.info("signal_received", signal=int(number))
        step = next(steps, None)
        if step is not None:
            step.set()


async def _run(settings: Settings, ending: Ending, task_status: TaskStatus[None]) -> int:
    try:
        _check_system()
        credential = Credential(
            token=None if settings.credential_file else settings.token, file=settings.credential_file
        )
        with open_journal(settings.journal, worker=settings.name, machine=settings.machine) as journal:
            async with AsyncExitStack() as stack:
                session = await _open_session(stack, settings, credential, journal, ending)
                return ExitCode.DONE if session is None else await _serve(session, task_status)
    except WorkerError as error:
        log.critical("worker_cannot_run", worker=settings.name, reason=str(error))
        return error.exit_code


def _check_system() -> None:
    if not hasattr(os, "pidfd_open") or not hasattr(os, "memfd_create"):
        raise ConfigurationError("The agent needs Linux: evidence about processes is read from its kernel.")


async def _open_session(
    stack: AsyncExitStack, settings: Settings, credential: Credential, journal: Journal, ending: Ending
) -> Session | None:
    """Connect and register; None when a signal came first."""
    session_id = new_session_id()
    connections = settings.limit + SPARE_CONNECTIONS
    client = await stack.enter_async_context(
        open_client(settings, credential, session_id, connections=connections)
    )
    renewal = await stack.enter_async_context(open_client(settings, credential, session_id, connections=1))
    registered = await _register(client, settings, ending, takeover=journal.same_machine)
    if registered is None:
        return None
    board = Board(settings.limit, survivors=sum(map(occupies_slot, journal.records.values())))
    return Session(settings, journal, client, renewal, registered, ending, board)


async def _register(
    client: Client, settings: Settings, ending: Ending, *, takeover: bool
) -> Registered | None:
    results: list[Registered | WorkerError] = []

    async def registering() -> None:
        try:
            results.append(await register(client, settings, takeover=takeover))
        except WorkerError as error:  # carried out by hand: a task group would wrap it
            results.append(error)

    await wait_first(registered=registering, draining=ending.draining.wait)
    if results and isinstance(results[0], WorkerError):
        raise results[0]
    return next((result for result in results if isinstance(result, Registered)), None)


async def _serve(session: Session, task_status: TaskStatus[None]) -> int:
    log.info(
        "worker_registered",
        worker=session.settings.name,
        session=str(session.client.session),
        generation=session.generation,
        takeover=session.journal.same_machine,
        records=len(session.journal.records),
    )
    async with anyio.create_task_group() as upkeep:
        upkeep.start_soon(renew_forever, session)
        upkeep.start_soon(beat_forever, session)
        is_clean = await _work(session, task_status)
        upkeep.cancel_scope.cancel()
    if session.ending.fenced.is_set():
        return ExitCode.TEMPORARY
    await say_offline(session)
    return ExitCode.DONE if is_clean else ExitCode.FAILED


async def _work(session: Session, task_status: TaskStatus[None]) -> bool:
    """Reconcile, pull and run attempts until told to go; returns whether everything was finished."""
    ending = session.ending
    records = session.journal.records.values()
    offers = Offers(session, filter(is_unspent, records))
    async with anyio.create_task_group() as work:

        def start(record: Record, offered: Offered) -> None:
            work.start_soon(run_attempt, session, record, offered)

        for record in records:
            if not is_unspent(record):
                work.start_soon(settle, session, record)
        task_status.started()
        await wait_first(
            fenced=ending.fenced.wait,
            draining=ending.draining.wait,
            recalled=ending.recalled.wait,
            pulling=lambda: offers.pull_forever(start),
        )
        if ending.recalled.is_set():
            await wait_first(
                fenced=ending.fenced.wait,
                draining=ending.draining.wait,
                drained=lambda: _drain(session, offers),
            )
        is_clean = await _wind_down(session, offers)
        work.cancel_scope.cancel()
    return is_clean


async def _wind_down(session: Session, offers: Offers) -> bool:
    """Drain within the budget, then stop what is left if so configured or told; True if nothing is left."""
    ending, board = session.ending, session.board
    with anyio.move_on_after(session.settings.drain_budget_s):
        await wait_first(
            drained=lambda: _drain(session, offers),
            fenced=ending.fenced.wait,
            stopping=ending.stopping.wait,
        )
    if not board.is_idle and session.settings.survivors == "stop":
        ending.stopping.set()
    if ending.stopping.is_set():
        with anyio.move_on_after(board.longest_grace_s + FAREWELL_S):
            await wait_first(idle=board.wait_idle, cut=ending.cut.wait)
    if not board.is_idle:
        log.warning("worker_leaves_work", attempts=[str(attempt) for attempt in board.held])
    return board.is_idle


async def _drain(session: Session, offers: Offers) -> None:
    log.info("worker_draining", running=len(session.board.held))
    await offers.withdraw()
    await say_drain(session)
    await session.board.wait_idle()
