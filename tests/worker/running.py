"""Running an agent inside a test: in this process under signals of the test's own, or as a real process."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID

import anyio
import msgspec

from tenure_worker.agent import run_agent
from tenure_worker.machine import machine_id
from tenure_worker.settings import Settings
from tests.harness.fake_ingress import TOKEN, FakeIngress

INHERITED = {"PATH": "/usr/local/bin:/usr/bin:/bin"}


@dataclass
class RunningAgent:
    """An agent in a task of this process. `crash` cancels it, which is as abrupt as a task can end."""

    signals: Any
    scope: anyio.CancelScope
    exit_code: int | None = None
    ended: anyio.Event = field(default_factory=anyio.Event)

    async def signal(self) -> None:
        await self.signals.send(15)

    async def wait(self, within_s: float = 15.0) -> int | None:
        with anyio.fail_after(within_s):
            await self.ended.wait()
        return self.exit_code

    async def drain(self) -> int | None:
        await self.signal()
        return await self.wait()


def settings_for(ingress: FakeIngress, journal: Path, **changes: Any) -> Settings:
    facts: dict[str, Any] = {
        "name": "w1",
        "ingress_url": ingress.url,
        "journal": journal,
        "token": TOKEN,
        "limit": 4,
        "wait_s": 0.0,
        "answer_timeout_s": 5.0,
        "drain_budget_s": 10.0,
        "machine": machine_id() or "test-machine",
        "inherited": INHERITED,
    }
    return Settings(**{**facts, **changes})


@asynccontextmanager
async def running_agent(
    ingress: FakeIngress, journal: Path, *, crash: bool = False, **changes: Any
) -> AsyncIterator[RunningAgent]:
    """Run an agent until the block ends: drained then, unless it ended before; cancelled with `crash`."""
    send, receive = anyio.create_memory_object_stream[int](8)
    settings = settings_for(ingress, journal, **changes)
    async with send, receive, anyio.create_task_group() as tasks:
        agent = RunningAgent(send, anyio.CancelScope())

        async def run() -> None:
            with agent.scope:
                agent.exit_code = await run_agent(settings, signals=receive)
            agent.ended.set()

        tasks.start_soon(run)
        yield agent
        if crash:
            agent.scope.cancel()
        elif not agent.ended.is_set():
            await agent.drain()


async def wait_for(condition: Callable[[], bool]) -> None:
    """Wait for something outside of this process, which rings no bell."""
    with anyio.fail_after(10):
        while not condition():  # noqa: ASYNC110 - files of other processes set no event
            await anyio.sleep(0.01)


def start_process(ingress: FakeIngress, journal: Path, **environ: str) -> subprocess.Popen[bytes]:
    """Start an agent as a process of its own, to be killed."""
    program = "import sys; from tenure_worker.command import run_worker; sys.exit(run_worker({}))"
    names: Mapping[str, str] = {
        **INHERITED,
        "TENURE_WORKER_NAME": "w1",
        "TENURE_INGRESS_URL": ingress.url,
        "TENURE_WORKER_JOURNAL": str(journal),
        "TENURE_WORKER_TOKEN": TOKEN,
        "TENURE_MACHINE_ID": machine_id() or "test-machine",
        **environ,
    }
    return subprocess.Popen([sys.executable, "-c", program], env=names, stderr=subprocess.DEVNULL)


def kill(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()


def journal_states(journal: Path) -> dict[UUID, str]:
    """The state of every record on the disk."""
    records = [msgspec.json.decode(path.read_bytes()) for path in (journal / "offers").glob("*.json")]
    return {UUID(record["offer"]): record["state"] for record in records}
