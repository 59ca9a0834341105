"""The agent's side of the launcher: create it, let it go, wait for it."""

from __future__ import annotations

import fcntl
import os
import signal
import sys
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path

import anyio
from msgspec import Struct

from tenure_worker.launcher import receipt
from tenure_worker.launcher.receipt import Receipt

SHELL = "/bin/sh"
_FOLDER = Path(__file__).parent
# Without its comments: the script stands in the process list for as long as the command runs.
_SCRIPT = "".join(
    line
    for line in (_FOLDER / "launcher.sh").read_text().splitlines(keepends=True)
    if not line.startswith("#")
)
_STARTER = (sys.executable, "-I", "-S", "-E", str(_FOLDER / "starter.py"))
# Sources are moved out of the way first, so that no duplicate overwrites one that is still needed.
_FIRST_FREE = 32


class Command(Struct, frozen=True, kw_only=True):
    """What to execute: no shell, the environment complete and exact, bytes where the system wants bytes."""

    argv: tuple[str, ...]
    env: Mapping[str, str]
    cwd: str
    stdin: str | None = None

    def encode(self) -> bytes:
        """The plan as the starter reads it: parts separated by NUL, which none may contain (ValueError)."""
        parts = [self.cwd, str(len(self.argv)), *self.argv, *(f"{k}={v}" for k, v in self.env.items())]
        if any("\0" in part for part in parts):
            raise ValueError("an argument or a name contains NUL")
        return b"\0".join(os.fsencode(part) for part in parts)


class Launcher:
    """One launcher of this process, blocked until `go` or `abandon`.

    `close` releases the descriptors and never touches the processes.
    """

    def __init__(self, folder: Path, pid: int, go: int, report: int) -> None:
        self.pid = pid
        self._receipt = folder / "receipt"
        self._go = go
        self._report = report
        self._handle = os.pidfd_open(pid)

    def go(self) -> None:
        """Let the launcher start the command. Only after its identity is in the journal."""
        os.write(self._go, b"\n")
        self.abandon()

    def abandon(self) -> None:
        """Close the pipe. A launcher that was not told to go leaves without starting anything."""
        if self._go >= 0:
            os.close(self._go)
            self._go = -1

    async def wait_started(self) -> Receipt:
        """Wait until the command runs or is proven not to. Cancelling changes nothing."""
        await anyio.wait_readable(self._report)
        return self.read_receipt()

    async def wait_ended(self) -> Receipt:
        """Wait until the launcher has gone, reap it, and read what it wrote. Cancelling changes nothing."""
        await anyio.wait_readable(self._handle)
        self._reap()
        return self.read_receipt()

    def read_receipt(self) -> Receipt:
        """The receipt as it is now."""
        return receipt.read(self._receipt) or Receipt()

    def close(self) -> None:
        """Give the descriptors back; the processes go on."""
        self.abandon()
        self._reap()
        for descriptor in (self._report, self._handle):
            os.close(descriptor)

    def _reap(self) -> None:
        try:
            os.waitpid(self.pid, os.WNOHANG)
        except ChildProcessError:
            return  # reaped before


def prepare(folder: Path, command: Command) -> Launcher:
    """Create the launcher of one attempt, blocked. Blocking call of a few milliseconds: use a thread.

    `folder` is the attempt's own and receives `receipt`, `stdout` and `stderr`. Raises OSError when something
    cannot be created (FileExistsError: a launcher was created here before); nothing is started then.
    """
    folder.mkdir(mode=0o700, exist_ok=True)
    with ExitStack() as kept:
        go_read, go_write = _kept_pipe(kept)
        report_read, report_write = _kept_pipe(kept)
        sources = {
            0: _null(kept),
            1: _null(kept),
            2: _null(kept),
            3: go_read,
            4: _keep(kept, receipt.create(folder / "receipt")),
            5: _memory(kept, "plan", command.encode()),
            6: _null(kept) if command.stdin is None else _memory(kept, "stdin", command.stdin.encode()),
            7: _keep(kept, _append(folder / "stdout")),
            8: _keep(kept, _append(folder / "stderr")),
            9: report_write,
        }
        _sync(folder)
        pid = _spawn(kept, sources)
        return Launcher(folder, pid, os.dup(go_write), os.dup(report_read))


def _spawn(kept: ExitStack, sources: Mapping[int, int]) -> int:
    moved = {
        target: _keep(kept, fcntl.fcntl(source, fcntl.F_DUPFD_CLOEXEC, _FIRST_FREE))
        for target, source in sources.items()
    }
    return os.posix_spawn(
        SHELL,
        [SHELL, "-c", _SCRIPT, "tenure-launcher", *_STARTER],
        {"PATH": os.defpath, "LC_ALL": "C"},
        file_actions=[(os.POSIX_SPAWN_DUP2, source, target) for target, source in moved.items()],
        setsid=True,
        setsigmask=[],
        setsigdef=[signal.SIGPIPE, signal.SIGCHLD],
    )


def _keep(kept: ExitStack, descriptor: int) -> int:
    close: Callable[[int], None] = os.close
    kept.callback(close, descriptor)
    return descriptor


def _kept_pipe(kept: ExitStack) -> tuple[int, int]:
    read_end, write_end = os.pipe()
    return _keep(kept, read_end), _keep(kept, write_end)


def _null(kept: ExitStack) -> int:
    return _keep(kept, os.open(os.devnull, os.O_RDWR))


def _append(path: Path) -> int:
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)


def _memory(kept: ExitStack, name: str, content: bytes) -> int:
    descriptor = _keep(kept, os.memfd_create(f"tenure-{name}"))
    with os.fdopen(os.dup(descriptor), "wb") as stream:
        stream.write(content)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
