"""One session: everything the tasks of one agent share, and its calls at the ingress."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar
from uuid import UUID, uuid4

import anyio
import anyio.to_thread
import structlog
import uuid6
from anyio.lowlevel import RunVar

from tenure_contracts.wire import session as wire
from tenure_worker.board import Board
from tenure_worker.client import Client, Refused, Unanswered
from tenure_worker.error import ConfigurationError, SessionFencedError
from tenure_worker.journal import Journal, Record
from tenure_worker.settings import Settings

T = TypeVar("T")

log = structlog.get_logger("tenure.worker")

AGENT = "tenure-worker/0.1"
FAREWELL_S = 5.0
DISK_THREADS = 16

_DISK_THREADS: RunVar[anyio.CapacityLimiter] = RunVar("tenure_worker_disk_threads")


@dataclass
class Ending:
    """How this agent is asked to go. Set by signals and by the ingress, looked at by every task.

    `recalled`: an operator wants this worker to take no more work; what runs goes on to its end, however
    long that takes. The others are a signal each, and the loss of the session.
    """

    recalled: anyio.Event = field(default_factory=anyio.Event)
    draining: anyio.Event = field(default_factory=anyio.Event)
    stopping: anyio.Event = field(default_factory=anyio.Event)
    cut: anyio.Event = field(default_factory=anyio.Event)
    fenced: anyio.Event = field(default_factory=anyio.Event)


@dataclass
class Session:
    """A registered session. `renewal` is a client with a connection that nothing else uses."""

    settings: Settings
    journal: Journal
    client: Client
    renewal: Client
    registered: wire.Registered
    ending: Ending
    board: Board
    advice: wire.Advice = field(init=False)

    def __post_init__(self) -> None:
        self.advice = self.registered.advice

    @property
    def generation(self) -> int:
        """The number that every request of this session carries."""
        return self.registered.generation

    async def write(self, record: Record) -> bool:
        """Journal a record; False, and a line in the log, when the disk refuses."""
        try:
            await on_disk(lambda: self.journal.write(record))
        except OSError as error:
            log.warning("journal_unwritable", offer=str(record.offer), state=record.state, reason=str(error))
            return False
        return True

    async def forget(self, offer: UUID) -> None:
        """Remove an offer's record; one that a sick disk keeps is settled again by the next process."""
        try:
            await on_disk(lambda: self.journal.remove(offer))
        except OSError as error:
            log.warning("journal_unwritable", offer=str(offer), reason=str(error))

    def note_drain(self, requested: bool) -> None:
        """Any answer may say that an operator asked this worker to drain."""
        if requested and not self.ending.recalled.is_set():
            log.info("drain_requested")
            self.ending.recalled.set()

    def note_refusal(self, refusal: Refused) -> None:
        """A refusal may say that this whole session has ended, whatever was asked."""
        if refusal.code == "session_fenced" and not self.ending.fenced.is_set():
            log.error("session_fenced", detail=refusal.detail)
            self.ending.fenced.set()


async def on_disk(work: Callable[[], T]) -> T:
    """Do blocking work in a thread, so that a slow disk never delays a renewal. Never cancelled half-way.

    The threads are the disk's own: a disk that hangs must not use up those that look names up for renewals.
    """
    try:
        limiter = _DISK_THREADS.get()
    except LookupError:
        limiter = anyio.CapacityLimiter(DISK_THREADS)
        _DISK_THREADS.set(limiter)
    return await anyio.to_thread.run_sync(work, limiter=limiter)


def new_request_id() -> UUID:
    """The id under which the ingress logs a request; it has no other meaning."""
    return uuid4()


def new_session_id() -> UUID:
    """A session id, never used again."""
    return uuid6.uuid7()


async def register(client: Client, settings: Settings, *, takeover: bool) -> wire.Registered:
    """Register until there is an answer.

    An older session of this name that is still live is waited out, unless `takeover`. Raises
    ConfigurationError for what an operator must change, SessionFencedError when this session id has ended.
    """
    message = wire.Register(
        request_id=new_request_id(),
        labels=dict(settings.labels),
        executors=("command",),
        limit=settings.limit,
        session_lease_s=settings.session_lease_s,
        takeover=takeover,
        agent=AGENT,
    )
    try:
        registered = await client.insist("register", message, wire.Registered, is_patient=False)
    except Refused as refusal:
        kind = SessionFencedError if refusal.code == "session_fenced" else ConfigurationError
        raise kind(f"The ingress refused this worker: {refusal}") from refusal
    if registered.worker != settings.name:
        raise ConfigurationError(
            f"The credential belongs to worker {registered.worker!r}, not {settings.name!r}."
        )
    return registered


async def beat_forever(session: Session) -> None:
    """Extend the session at the pace the ingress advises, until cancelled."""
    while True:
        await anyio.sleep(session.advice.heartbeat_s)
        message = wire.Heartbeat(request_id=new_request_id(), generation=session.generation)
        try:
            answer = await session.client.insist("heartbeat", message, wire.SessionAnswer)
        except Refused as refusal:
            session.note_refusal(refusal)
            log.warning("heartbeat_refused", code=refusal.code, detail=refusal.detail)
            continue
        session.advice = answer.advice
        session.note_drain(answer.drain_requested)


async def say_drain(session: Session) -> None:
    """Tell the ingress that this session takes no more work; its answer changes nothing here."""
    message = wire.Drain(request_id=new_request_id(), generation=session.generation)
    await _say(session, "drain", message)


async def say_offline(session: Session) -> None:
    """End the session at the ingress, so that the next one need not wait for its expiry."""
    message = wire.Offline(request_id=new_request_id(), generation=session.generation)
    await _say(session, "offline", message)


async def _say(session: Session, name: str, message: wire.SessionRequest) -> None:
    try:
        with anyio.fail_after(FAREWELL_S, shield=True):
            await session.client.insist(name, message, wire.SessionAnswer)
    except Refused as refusal:
        session.note_refusal(refusal)
        log.warning("farewell_refused", call=name, code=refusal.code)
    except (TimeoutError, Unanswered):
        log.warning("farewell_unanswered", call=name)
