"""An ingress in this process, over a test's database: the real composition root on free loopback ports.

    async with open_ingress(database) as ingress:
        async with open_fake_worker(ingress.url, seed.credential("w1")) as worker:
            await worker.register()

Several may run beside each other, on one database or on several; each is stopped in order at the end of its
block, and what it logged is in `ingress.log`.
"""

from __future__ import annotations

import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import httpx
import structlog
import trio

from tenure_ingress.app import serve
from tenure_ingress.settings import Settings
from tenure_process.address import Address
from tests.harness.database import ScratchDatabase
from tests.harness.fake_worker import PLAIN

ANYWHERE = Address("127.0.0.1", 0)
STOP_S = 15.0


@dataclass
class RunningIngress:
    """An ingress that listens. `log` has the events that this process logged while it ran, in their order."""

    log: list[Any]
    exit_code: int | None = None
    ended: trio.Event = field(default_factory=trio.Event, repr=False)
    _signals: trio.MemorySendChannel[int] = field(repr=False, kw_only=True)

    @property
    def url(self) -> str:
        """Where workers reach it."""
        return f"http{'s' if self._listening['tls'] else ''}://{self._listening['address']}"

    @property
    def probe_url(self) -> str:
        """Where probes reach it."""
        return f"http://{self._listening['probe']}"

    @property
    def _listening(self) -> Any:
        return next(entry for entry in self.log if entry["event"] == "listening")

    @property
    def events(self) -> list[str]:
        """The names of the logged events."""
        return [entry["event"] for entry in self.log]

    def signal(self, number: int = signal.SIGTERM) -> None:
        """What this signal is to the process."""
        self._signals.send_nowait(number)

    async def wait_ended(self) -> int:
        """The exit code, once it has ended."""
        with trio.fail_after(STOP_S):
            await self.ended.wait()
        assert self.exit_code is not None
        return self.exit_code

    async def stop(self) -> int:
        """Ask it to stop, unless it has; the exit code."""
        if not self.ended.is_set():
            self.signal()
        return await self.wait_ended()

    async def probe(self, path: str) -> httpx.Response:
        """GET a path of the probe listener: /livez, /readyz or /metrics."""
        async with httpx.AsyncClient(trust_env=False, base_url=self.probe_url, verify=PLAIN) as client:
            return await client.get(path)

    async def ask_reload(self) -> httpx.Response:
        """POST /reload on the probe listener."""
        async with httpx.AsyncClient(trust_env=False, base_url=self.probe_url, verify=PLAIN) as client:
            return await client.post("/reload")

    async def wait_event(self, event: str) -> None:
        """Wait until it logged an event; fails the test when it ends before."""
        with trio.fail_after(STOP_S):
            while event not in self.events:
                assert not self.ended.is_set(), f"ended with {self.exit_code}: {self.log}"
                await trio.sleep(0.005)

    async def wait_status(self, status: str, within_s: float = 10) -> None:
        """Wait until /readyz says this, asking every 50 ms; fails the test when it does not in time."""
        with trio.fail_after(within_s):
            while (await self.probe("/readyz")).json()["status"] != status:  # noqa: ASYNC110 - asked over HTTP
                await trio.sleep(0.05)


def ingress_settings(database: ScratchDatabase, **changes: Any) -> Settings:
    """Settings for a test: both listeners on free loopback ports, the database of the test."""
    defaults: dict[str, Any] = {
        "database_url": database.dsn("tenure_ingress"),
        "listen": ANYWHERE,
        "probe_listen": ANYWHERE,
    }
    return Settings(**{**defaults, **changes})


@asynccontextmanager
async def open_ingress(
    database: ScratchDatabase, *, wait: bool = True, **settings: Any
) -> AsyncIterator[RunningIngress]:
    """Have an ingress for the block; keywords are settings. It is stopped by a signal at the end.

    wait: begin the block when it is ready; else as soon as it listens.
    """
    signals, receive = trio.open_memory_channel[int](4)
    with structlog.testing.capture_logs() as log:
        ingress = RunningIngress(log, _signals=signals)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(partial(_run, ingress, ingress_settings(database, **settings), receive))
            try:
                await ingress.wait_event("ready" if wait else "listening")
                yield ingress
            except BaseException:
                nursery.cancel_scope.cancel()
                raise
            await ingress.stop()


async def _run(ingress: RunningIngress, settings: Settings, signals: trio.MemoryReceiveChannel[int]) -> None:
    try:
        ingress.exit_code = await serve(settings, signals=signals)
    finally:
        ingress.ended.set()


async def exit_code(settings: Settings) -> tuple[int, list[Any]]:
    """Serve with settings that cannot work: the exit code and what was logged."""
    _, receive = trio.open_memory_channel[int](1)
    with structlog.testing.capture_logs() as log, trio.fail_after(STOP_S):
        return await serve(settings, signals=receive), log
