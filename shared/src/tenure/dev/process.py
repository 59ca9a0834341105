"""One supervised child process."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import trio

from tenure import output
from tenure.dev.place import Place

STOP_S: Final = 20.0
"""Longer than the drain budgets of control and ingress together."""

RESTART_PAUSE_S: Final = 0.5


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


async def _run_once(child: Child, place: Place, task_status: trio.TaskStatus[None]) -> int:
    with place.log(child.name).open("ab") as log:
        process = await trio.lowlevel.open_process(
            child.arguments,
            env=dict(child.environment),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,  # a Ctrl-C in the terminal reaches the stack, which stops its children in order
        )
    pid_file = place.pid(child.name)
    pid_file.write_text(f"{process.pid}\n")
    task_status.started()
    try:
        return await process.wait()
    finally:
        await _end(process)
        pid_file.unlink(missing_ok=True)


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
