"""What is measured: a durable PostgreSQL, a migrated database with leases in it, and an ingress process."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import trio

from bench import machine
from tenure.embedded import EmbeddedServer
from tenure_contracts import bounds
from tests.harness.blocking import BlockingConnection
from tests.harness.database import ScratchDatabase
from tests.harness.fake_worker import Work, open_fake_worker
from tests.harness.seed import Seed
from tests.harness.template import prepare_template

ROOT = Path(".tenure/bench")
"""On the disk of the working copy: what a commit costs is part of every figure."""

NAME = "tenure"
READY_S = 30.0


@dataclass(frozen=True)
class Holder:
    """A worker's session, and the work it holds under lease."""

    token: str
    session: str
    generation: int
    work: Sequence[Work]

    def renewal(self, leases: int) -> bytes:
        """The request that renews the first so many leases, as bytes."""
        fences = [each.fence for each in self.work[:leases]]
        message = {"request_id": str(uuid4()), "generation": self.generation, "leases": fences}
        body = json.dumps(message, separators=(",", ":")).encode()
        return (
            f"POST /v1/sessions/{self.session}/renew HTTP/1.1\r\nHost: localhost\r\n"
            f"Authorization: Bearer {self.token}\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        ).encode() + body


@dataclass(frozen=True)
class Stack:
    """Everything that runs, and who holds what."""

    database: ScratchDatabase
    ingress: Ingress
    holders: Sequence[Holder]
    cores: machine.Cores

    @property
    def postmaster(self) -> int:
        """The first process of PostgreSQL."""
        return machine.parent_of(self.database.value("SELECT pg_backend_pid()"))


@dataclass(frozen=True)
class Ingress:
    """The ingress process. `port` is where workers connect."""

    pid: int
    port: int
    probe_port: int

    @property
    def url(self) -> str:
        """Where workers reach it."""
        return f"http://127.0.0.1:{self.port}"

    def metric(self, name: str) -> float:
        """The value of one series of its metrics, labels included in the name; 0 before it has any."""
        lines = self._probe("/metrics").splitlines()
        return next((float(line.rpartition(" ")[2]) for line in lines if line.startswith(f"{name} ")), 0.0)

    def is_ready(self) -> bool:
        """Whether it serves."""
        try:
            self._probe("/readyz")
        except OSError:
            return False
        return True

    def _probe(self, path: str) -> str:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.probe_port}{path}", timeout=READY_S) as answer:
            text: str = answer.read().decode()
        return text


@contextmanager
def open_stack(holders: int, leases: int, root: Path = ROOT) -> Iterator[Stack]:
    """Have a stack for the block: so many workers, each of which holds so many leases.

    Whatever is in the folder `root` is removed first: an old database is another database.
    """
    cores = machine.share_cores()
    shutil.rmtree(root, ignore_errors=True)
    with (
        EmbeddedServer(root / "pg") as server,
        _database(server) as database,
        _ingress(database, cores, root / "ingress.log") as ingress,
    ):
        held = trio.run(_hold, database, ingress.url, holders, leases)
        database.execute("VACUUM ANALYZE")
        yield Stack(database, ingress, held, cores)


@contextmanager
def _database(server: EmbeddedServer) -> Iterator[ScratchDatabase]:
    with BlockingConnection(server.dsn()) as administrator:
        administrator.execute(f"CREATE DATABASE {NAME}")
    prepare_template(server, NAME)
    database = ScratchDatabase(server, NAME)
    try:
        yield database
    finally:
        database.close()


@contextmanager
def _ingress(database: ScratchDatabase, cores: machine.Cores, log: Path) -> Iterator[Ingress]:
    port, probe_port = _free_port(), _free_port()
    settings = {
        "TENURE_INGRESS_DATABASE_URL": database.dsn("tenure_ingress"),
        "TENURE_INGRESS_LISTEN": f"127.0.0.1:{port}",
        "TENURE_INGRESS_PROBE_LISTEN": f"127.0.0.1:{probe_port}",
    }
    command = [sys.executable, "-m", "tenure", "ingress", "serve"]
    with log.open("wb") as file:
        process = subprocess.Popen(command, env={**os.environ, **settings}, stdout=file, stderr=file)
    try:
        os.sched_setaffinity(process.pid, cores.server)
        ingress = Ingress(process.pid, port, probe_port)
        _wait_ready(ingress, process, log)
        yield ingress
    finally:
        process.terminate()
        process.wait()


def _wait_ready(ingress: Ingress, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + READY_S
    while not ingress.is_ready():
        if process.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError(f"the ingress does not serve; its log is {log}")
        time.sleep(0.05)


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port: int = probe.getsockname()[1]
        return port


async def _hold(database: ScratchDatabase, url: str, holders: int, leases: int) -> Sequence[Holder]:
    """Admit the runs, and have each worker pull its share of them, as workers do."""
    database.execute("SET synchronous_commit = off")
    seed = Seed(database)
    seed.task("idle")
    seed.runs("idle", holders * leases)
    return [await _pull(url, seed.credential(f"w{number}"), leases) for number in range(holders)]


async def _pull(url: str, token: str, leases: int) -> Holder:
    async with open_fake_worker(url, token) as worker:
        await worker.register(limit=leases)
        work: list[Work] = []
        while len(work) < leases:
            work += await worker.pull(min(bounds.OFFERS_PER_PULL, leases - len(work)))
    return Holder(token, worker.session, worker.generation, work)
