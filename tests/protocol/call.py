"""A call of the protocol as a row of a table, and how it is made ready to be sent."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias
from uuid import uuid4

import httpx

from tests.harness.fake_worker import FakeWorker, Work
from tests.harness.seed import Seed

Body: TypeAlias = dict[str, Any]

BEGAN: Final = "2026-01-01T00:00:00.000000Z"
"""Before any start, so the database clamps it; but the same in every repetition."""

PROVEN_OTHERWISE: Final = ("register", "attest")
"""Calls that do not name the generation of their session."""


@dataclass
class Case:
    """One call, ready to be sent: the worker that sends it, and the body, which every repetition repeats."""

    call: Call
    token: str
    session: str
    generation: int = 1
    work: Work | None = None
    body: Body = field(default_factory=dict)

    @property
    def held(self) -> Work:
        """The work that the call is about."""
        assert self.work is not None
        return self.work

    def at(self, http: httpx.AsyncClient) -> FakeWorker:
        """The worker, talking to this address."""
        worker = FakeWorker(http, self.token)
        worker.session, worker.generation = self.session, self.generation
        return worker

    async def send(self, http: httpx.AsyncClient) -> Any:
        """Send the call to this address, under a request id of its own. Raises Refused."""
        generation = {} if self.call.name in PROVEN_OTHERWISE else {"generation": self.generation}
        return await self.at(http).call(self.call.name, **generation, **self.body)


@dataclass(frozen=True)
class Call:
    """One row.

    Args:
        at: the state of the work before the call: `queued` is nobody's yet; None when there is none.
        body: the fields of the request beside `request_id` and `generation`.
        adds: what one sending adds, and all repetitions together.
        moves: columns that a repetition moves again, where the call is idempotent by effect alone.
        answers: what the first sending is answered: `applied` or `recorded`, once per effect.
        renewal: what a renewal of the same lease says afterwards.
        statements: what it sends to the database at first; one statement of its own name unless it says so.
        prepare: brings more work to where the call is sent from.
    """

    name: str
    at: str | None
    body: Callable[[Case], Body]
    adds: Counter[str]
    answers: tuple[str, ...] = ()
    moves: frozenset[str] = frozenset()
    renewal: str | None = "renewed"
    statements: tuple[str, ...] = ()
    prepare: Callable[[Seed, FakeWorker, Case], Awaitable[None]] | None = None

    @property
    def functions(self) -> Sequence[str]:
        """The names of the statements that are sent before any answer."""
        return self.statements or (self.name.replace("-", "_"),)


async def arrange(seed: Seed, http: httpx.AsyncClient, call: Call) -> Case:
    """Bring a worker of its own, and work that nobody else can have, to where the call is sent from."""
    seed.task(call.name, placement={"require": {"case": call.name}})
    case = Case(call, seed.credential(f"w-{uuid4().hex[:8]}"), str(uuid4()))
    worker = case.at(http)
    if call.name != "register":
        await worker.register(labels={"case": call.name}, limit=16)
    if call.at == "queued":
        seed.run(call.name)
    elif call.at is not None:
        case.work = await bring(seed, worker, call.name, call.at)
    if call.prepare is not None:
        await call.prepare(seed, worker, case)
    case.body = call.body(case)
    return case


async def bring(seed: Seed, worker: FakeWorker, task: str, to: str) -> Work:
    """A new run of this task, brought to `claimed`, `starting` or `running`."""
    seed.run(task)
    (work,) = await worker.pull()
    if to != "claimed":
        await worker.starting(work)
    if to == "running":
        await worker.running(work, executor_handle="pid:1", started_at=BEGAN)
    return work
