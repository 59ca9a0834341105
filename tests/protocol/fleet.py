"""200 leases: some under a real worker agent with real processes, the others under scripted workers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import anyio
import httpx
import trio

from tenure_worker.agent import run_agent
from tenure_worker.machine import machine_id
from tenure_worker.settings import Settings
from tests.harness import ScratchDatabase
from tests.harness.fake_worker import PLAIN, FakeWorker, Refused, Work, item
from tests.harness.seed import Seed

LEASES: Final = 200
HELD_BY_ONE: Final = 16
PASSING: Final = ("database_unavailable", "starting", "draining", "busy", "overloaded")

UNTIL_TOLD: Final = "echo $$ > {folder}/$$.pid; until [ -e {folder}/go ]; do sleep 0.05; done"
"""A command that runs until it is told to end, and leaves its process id."""

RENEWED: Final = """
count(*) = $1 FROM tenure.run_leases
WHERE state = 'leased' AND generation = 1 AND expires_at > tenure.clock() AND renewed_at > $2
"""


@dataclass
class Scripted:
    """A worker that renews what it holds, again and again, and keeps what it was told."""

    worker: FakeWorker
    held: Sequence[Work]
    failures: int = 0
    told: set[tuple[str, str | None]] = field(default_factory=set)

    async def renew_forever(self, pause_s: float) -> None:
        """Renew until cancelled. What is passing is tried again, as a worker does."""
        while True:
            try:
                answer = await self.worker.renew(*self.held)
                self.told |= {(lease["status"], lease["disposition"]) for lease in answer["leases"]}
            except httpx.TransportError:
                self.failures += 1
            except Refused as refusal:
                if refusal.code not in PASSING:
                    raise
                self.failures += 1
            await trio.sleep(pause_s)


@dataclass
class Fleet:
    """All of them. `processes` are those of the agent."""

    scripted: Sequence[Scripted]
    folder: Path

    @property
    def processes(self) -> list[int]:
        """The ids of the agent's commands."""
        return sorted(int(path.stem) for path in self.folder.glob("*.pid"))

    def alive(self) -> list[int]:
        """Those that still run."""
        return [pid for pid in self.processes if Path(f"/proc/{pid}").exists()]

    async def wait_until_all_failed(self, within_s: float = 10) -> None:
        """Wait until every scripted worker has noticed an outage that begins now."""
        seen = [each.failures for each in self.scripted]
        with trio.fail_after(within_s):
            while any(each.failures == was for each, was in zip(self.scripted, seen, strict=True)):  # noqa: ASYNC110
                await trio.sleep(0.01)

    async def end(self, database: ScratchDatabase) -> None:
        """Tell the commands to end, and complete everything else; wait until every run has succeeded."""
        (self.folder / "go").touch()
        for each in self.scripted:
            items = [item("complete", work, outcome="succeeded") for work in each.held]
            answers = await each.worker.exchange(*items)
            assert {answer["body"]["status"] for answer in answers} == {"applied"}
        await database.wait_until("count(*) = 0 FROM tenure.runs WHERE status <> 'succeeded'", within_s=10)


@asynccontextmanager
async def open_fleet(
    database: ScratchDatabase, url: str, folder: Path, *, processes: int, pause_s: float, timeout_s: float
) -> AsyncIterator[Fleet]:
    """Have 200 running attempts, renewed without end; pauses and time-outs in seconds."""
    seed = Seed(database)
    for task in ("scripted", "real"):
        command = ["sh", "-c", UNTIL_TOLD.format(folder=folder)]
        seed.task(task, command=command, placement={"require": {"kind": task}})
    seed.runs("real", processes)
    async with (
        httpx.AsyncClient(base_url=url, trust_env=False, timeout=timeout_s, verify=PLAIN) as http,
        trio.open_nursery() as nursery,
        _agent(seed, url, folder, processes),
    ):
        fleet = Fleet(await _scripted(seed, http, LEASES - processes), folder)
        for each in fleet.scripted:
            nursery.start_soon(each.renew_forever, pause_s)
        await database.wait_until(
            "count(*) = $1 FROM tenure.runs WHERE status = 'running'", LEASES, within_s=30
        )
        yield fleet
        nursery.cancel_scope.cancel()


async def _scripted(seed: Seed, http: httpx.AsyncClient, leases: int) -> list[Scripted]:
    seed.runs("scripted", leases)
    fleet: list[Scripted] = []
    while leases:
        count = min(HELD_BY_ONE, leases)
        leases -= count
        worker = FakeWorker(http, seed.credential(f"w{len(fleet)}"))
        await worker.register(labels={"kind": "scripted"}, limit=HELD_BY_ONE)
        held = await worker.pull(count)
        for call, facts in (("starting", False), ("running", True)):
            await worker.exchange(*(item(call, work, **(_process(work) if facts else {})) for work in held))
        fleet.append(Scripted(worker, held))
    return fleet


def _process(work: Work) -> dict[str, str]:
    return {"executor_handle": work.executor_handle, "started_at": work.started_at}


@asynccontextmanager
async def _agent(seed: Seed, url: str, folder: Path, processes: int) -> AsyncIterator[None]:
    """A real agent in a task; it is drained at the end, and must find nothing left to do."""
    settings = Settings(
        name="agent",
        ingress_url=url,
        journal=folder / "journal",
        token=seed.credential("agent"),
        labels={"kind": "real"},
        limit=processes,
        wait_s=0.0,
        answer_timeout_s=5.0,
        machine=machine_id() or "test-machine",
        inherited={"PATH": "/usr/local/bin:/usr/bin:/bin"},
    )
    codes: list[int] = []
    send, receive = anyio.create_memory_object_stream[int](1)

    async def run() -> None:
        codes.append(await run_agent(settings, signals=receive))

    async with send, receive, trio.open_nursery() as nursery:
        nursery.start_soon(run)
        yield
        await send.send(15)
    assert codes == [0]
