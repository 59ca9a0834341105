"""The process around a service: settings, log, signals, exit code."""

from __future__ import annotations

import logging
import os
import resource
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, Protocol, TypeVar

import structlog
import trio

from tenure_process.exit import ExitCode
from tenure_process.family.orders import obeying
from tenure_process.log import configure_logging
from tenure_process.settings import SettingsError


class Settings(Protocol):
    """What a process itself wants to know of its settings."""

    @property
    def debug(self) -> bool:
        """Whether to log what happens all the time."""
        ...


S = TypeVar("S", bound=Settings)
S_contra = TypeVar("S_contra", contravariant=True)


class Serve(Protocol[S_contra]):
    """A composition root: serves until the first signal that stops; returns the exit code.

    SIGHUP does not stop; it asks to read again what can be read again.
    """

    def __call__(self, settings: S_contra, *, signals: AsyncIterator[Any]) -> Awaitable[int]: ...


def run(name: str, read_settings: Callable[[], S], serve: Serve[S], *, process: int | None = None) -> int:
    """Serve until SIGTERM or SIGINT reach the service through its iterator; the exit code of the process.

    SIGHUP reaches it in the same way. `process` is the number of one that a parent started: its log says so,
    and it takes the parent's orders from standard input.

    Every way to end is one line in the log of `name`, an unexpected error with its traceback included.
    """
    configure_logging(process=process)
    _allow_descriptors()
    log = structlog.get_logger(name)
    try:
        settings = read_settings()
    except SettingsError as error:
        log.critical("settings_refused", reason=str(error))
        return ExitCode.CONFIGURATION
    if settings.debug:
        configure_logging(level=logging.DEBUG, process=process)
    try:
        return trio.run(_under_signals, serve, settings, process is not None)
    except Exception:
        log.exception("failed")
        return ExitCode.FAILED


def _allow_descriptors() -> None:
    """As many open files as the system lets us have: the usual 1024 are fewer connections than we serve."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


async def _under_signals(serve: Serve[S], settings: S, has_parent: bool) -> int:
    with trio.open_signal_receiver(signal.SIGTERM, signal.SIGINT, signal.SIGHUP) as signals:
        if not has_parent:
            return await serve(settings, signals=signals)
        parent = trio.lowlevel.FdStream(os.dup(sys.stdin.fileno()))
        async with parent, obeying(signals, parent) as orders:
            return await serve(settings, signals=orders)
