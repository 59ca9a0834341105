"""What the command line calls: read settings, configure logging, run one agent under real signals."""

from __future__ import annotations

import logging
import os
import signal
from collections.abc import Mapping
from typing import Any, Literal

import anyio
import structlog

from tenure_process.log import configure_logging
from tenure_worker.agent import run_agent
from tenure_worker.error import WorkerError
from tenure_worker.machine import machine_id
from tenure_worker.settings import Settings, read_settings

log = structlog.get_logger("tenure.worker")


def run_worker(
    flags: Mapping[str, Any],
    environ: Mapping[str, str] = os.environ,
    *,
    backend: Literal["trio", "asyncio"] = "trio",
) -> int:
    """Run a worker in the foreground until a signal ends it; returns the exit code (0, 1, 64, 75 or 78).

    `flags` are the flags that were given, by the names of `read_settings`: `name`, `labels` (list of
    `K=V`), `limit`, `credential_file`, `token`, `journal`, `ingress_url`, `drain_budget`, `session_lease`,
    `survivors` (`adopt` or `stop`); None and absent mean: look into the environment.
    """
    configure_logging()
    # The HTTP client tells of each request at `info`; what became of it is told here.
    logging.getLogger("httpx").setLevel(logging.WARNING)
    try:
        settings = read_settings(environ, flags, machine=machine_id(environ))
    except WorkerError as error:
        log.critical("worker_cannot_run", reason=str(error))
        return error.exit_code
    return anyio.run(_run_under_signals, settings, backend=backend)


async def _run_under_signals(settings: Settings) -> int:
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        return await run_agent(settings, signals=signals)
