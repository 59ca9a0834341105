"""`tenure ingress serve --processes 2`, as the system starts it: what both serve, and how they end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest
import trio

from tenure_ingress.__main__ import main_of_module
from tests.harness import ScratchDatabase
from tests.harness.fake_worker import PLAIN, FakeWorker, Refused
from tests.harness.seed import Seed
from tests.harness.tls import TlsFiles
from tests.ingress.conftest import started


@dataclass
class Parent:
    """The process, and what it and its children logged, until the last of them is gone."""

    process: trio.Process
    log: list[Any] = field(default_factory=list)
    all_ended: trio.Event = field(default_factory=trio.Event)

    def first(self, event: str) -> Any:
        return next(entry for entry in self.log if entry["event"] == event)

    @property
    def url(self) -> str:
        return f"https://{self.first('listening')['address']}"

    @property
    def probe_url(self) -> str:
        return f"http://{self.first('listening')['probe']}"

    def count(self, event: str) -> int:
        return [entry["event"] for entry in self.log].count(event)

    async def read(self, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Read the log to its end; started when all are ready."""
        assert self.process.stderr is not None
        rest = b""
        async for chunk in self.process.stderr:
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                self.log.append(json.loads(line))
                if self.log[-1]["event"] == "ready" and "processes" in self.log[-1]:
                    task_status.started()
        self.all_ended.set()

    async def connections(self) -> list[float]:
        """How many each process has."""
        async with httpx.AsyncClient(trust_env=False, verify=PLAIN) as client:
            answer = await client.get(f"{self.probe_url}/metrics")
        lines = answer.text.splitlines()
        return [
            float(line.rpartition(" ")[2]) for line in lines if line.startswith("tenure_ingress_connections{")
        ]


@pytest.fixture
def files(tmp_path: Path) -> TlsFiles:
    """What both processes serve with."""
    return TlsFiles(tmp_path)


@pytest.fixture
async def parent(database: ScratchDatabase, files: TlsFiles, nursery: trio.Nursery) -> AsyncIterator[Parent]:
    """One that is ready. It is killed at the end of the test, and then its children end by themselves."""
    environ = {
        **{name: text for name, text in os.environ.items() if not name.startswith("TENURE_")},
        "TENURE_INGRESS_DATABASE_URL": database.dsn("tenure_ingress"),
        "TENURE_INGRESS_LISTEN": "127.0.0.1:0",
        "TENURE_INGRESS_PROBE_LISTEN": "127.0.0.1:0",
        "TENURE_INGRESS_TLS_CERTIFICATE": str(files.material.certificate),
        "TENURE_INGRESS_TLS_KEY": str(files.material.key),
    }
    command = [sys.executable, "-m", "tenure", "ingress", "serve", "--processes=2"]
    process = await trio.lowlevel.open_process(command, env=environ, stderr=subprocess.PIPE)
    parent = Parent(process)
    try:
        with trio.fail_after(60):
            await nursery.start(parent.read)
        yield parent
    finally:
        process.kill()
        with trio.CancelScope(shield=True):
            await process.wait()


async def test_a_stop_loses_no_request_of_any_process(
    parent: Parent, files: TlsFiles, seed: Seed, database: ScratchDatabase
) -> None:
    answers: list[Any] = []

    async def complete(worker: FakeWorker, work: Any) -> None:
        try:
            answers.append((await worker.complete(work))["status"])
        except Refused as refusal:
            answers.append(refusal.code)

    async with AsyncExitStack() as stack, database.session() as other:
        workers: list[tuple[FakeWorker, Any]] = []
        while not all(await parent.connections()):
            http = httpx.AsyncClient(base_url=parent.url, trust_env=False, verify=files.client(), timeout=20)
            await stack.enter_async_context(http)
            worker = FakeWorker(http, seed.credential(f"w{len(workers)}"))
            await worker.register()
            workers.append((worker, await started(seed, worker)))
        await other.execute("BEGIN; LOCK TABLE tenure.run_leases IN ACCESS EXCLUSIVE MODE")
        async with trio.open_nursery() as nursery:
            for worker, work in workers:
                nursery.start_soon(complete, worker, work)
            await database.wait_until_blocked(2)  # a lane of each process
            parent.process.send_signal(signal.SIGTERM)
            with trio.fail_after(10):
                while parent.count("draining") < 3:  # noqa: ASYNC110 - a log has no event
                    await trio.sleep(0.01)
            await other.execute("COMMIT")
        # A slow machine may meet the time-out of the lock, which is an answer, too.
        assert set(answers) <= {"applied", "busy"}
        assert len(answers) == len(workers)
        with trio.fail_after(15):
            assert await parent.process.wait() == 0
    in_flight = {entry["process"]: entry["in_flight"] for entry in parent.log if "in_flight" in entry}
    assert set(in_flight) == {0, 1}
    assert sum(in_flight.values()) == len(workers)


async def test_all_reload_at_once_and_end_by_themselves_when_the_parent_was_killed(
    parent: Parent, files: TlsFiles
) -> None:
    files.renew()
    async with httpx.AsyncClient(trust_env=False, verify=PLAIN) as client:
        answer = (await client.post(f"{parent.probe_url}/reload")).json()
    assert answer["status"] == "reloaded"
    assert [each["fingerprint"] for each in answer["processes"]] == [answer["fingerprint"]] * 2
    parent.process.kill()
    with trio.fail_after(15):
        await parent.all_ended.wait()
    ends = [entry["process"] for entry in parent.log if entry["event"] == "listener_closed"]
    assert sorted(ends) == [0, 1], "in order, as if they had been asked"


def test_arguments_of_the_command_line_are_refused_by_the_module(capsys: pytest.CaptureFixture[str]) -> None:
    assert main_of_module(["--processes", "2"]) == 64
    told = "tenure_ingress: --processes 2: settings are given in the environment\n"
    assert capsys.readouterr().err == told


async def test_what_keeps_a_process_from_starting_is_the_exit_code(tmp_path: Path) -> None:
    file = tmp_path / "tenure.toml"
    file.write_text(
        """
        [ingress]
        database_url = "postgresql://tenure_ingress@/none?host=/none"
        start_budget = "100ms"
        listen = "127.0.0.1:0"
        probe_listen = "127.0.0.1:0"
        processes = 2
        """
    )
    file.chmod(0o600)
    environ = {name: text for name, text in os.environ.items() if not name.startswith("TENURE_")}
    command = [sys.executable, "-m", "tenure_ingress"]
    done = await trio.run_process(
        command, env={**environ, "TENURE_SETTINGS": str(file)}, capture_stderr=True, check=False
    )
    assert done.returncode == 75, done.stderr.decode()
    assert b"database_unusable" in done.stderr
