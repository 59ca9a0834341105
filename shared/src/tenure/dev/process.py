"""One supervised child process."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import trio

from tenure import output
from tenure.dev.place import Place

STOP_S: Final = 20.0
"""Longer than the drain budgets of control and ingress together."""

RESTART_PAUSE_S: Final = 0.5
POLL_S: Final = 0.1


@dataclass(frozen=True)
class Child:
    """What to run: a command of this installation, with its environment."""

    name: str
    arguments: Sequence[str]
    environment: Mapping[str, str]


async def supervise(
    child: Child,
    place: Place,
    *,
    restart: bool,
    task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED,
) -> None:
    """Run a child until cancelled; started again whenever it ends, unless `restart` is False.

    `started()` means that the process exists. On cancellation it is asked to stop (SIGTERM), waited for, and
    killed only when it takes longer than 20 s.
    """
    while True:
        code = await _run_once(child, place, task_status)
        task_status = trio.TASK_STATUS_IGNORED
        output.complain(f"{child.name} ended with {code}; its log is {place.log(child.name)}")
        if not restart:
            return
        await trio.sleep(RESTART_PAUSE_S)


async def end_orphan(name: str, arguments: Sequence[str], place: Place) -> None:
    """Stop the process of an earlier stack that was killed itself and could not stop its children.

    Asked first (SIGTERM), and killed when it takes longer than 20 s.
    """
    deadline = trio.current_time() + STOP_S
    while (pid := _running(name, arguments, place)) is not None:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM if trio.current_time() < deadline else signal.SIGKILL)
        await trio.sleep(POLL_S)


async def _run_once(child: Child, place: Place, task_status: trio.TaskStatus[None]) -> int:
    with place.log(child.name).open("ab") as log:
        process = await trio.lowlevel.open_process(
            child.arguments,
            env=dict(child.environment),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            # Ctrl-C in a terminal reaches the stack alone, which stops its children in order.
            start_new_session=True,
        )
    pid_file = place.pid(child.name)
    pid_file.write_text(f"{process.pid}\n")
    task_status.started()
    try:
        return await process.wait()
    finally:
        await _end(process)  # noqa: ASYNC102 - it shields and bounds itself
        pid_file.unlink(missing_ok=True)


def _running(name: str, arguments: Sequence[str], place: Place) -> int | None:
    """The process that the pid file names, if it is this child and not a later process of the same number."""
    try:
        pid = int(place.pid(name).read_text(encoding="utf-8"))
        command = Path(f"/proc/{pid}/cmdline").read_bytes()
    except (OSError, ValueError):
        return None
    return pid if command.split(b"\0")[:-1] == [os.fsencode(word) for word in arguments] else None


async def _end(process: trio.Process) -> None:
    if process.returncode is not None:
        return
    process.terminate()
    with trio.move_on_after(STOP_S, shield=True):
        await process.wait()
    if process.returncode is None:
        process.kill()
        with trio.CancelScope(shield=True):
            await process.wait()
