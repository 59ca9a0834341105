"""The starter: turns itself into the command. Executed as a script, once per attempt, for some milliseconds.

It exists because a shell can neither lead a new session, nor keep an environment exactly as it is, nor tell a
program that does not exist from one that ends with code 127. It imports nothing that costs time.
"""

from __future__ import annotations

import os
import signal
import time

STDERR, RECEIPT, PLAN = 2, 4, 5
RESET = ("SIGHUP", "SIGINT", "SIGQUIT", "SIGTERM", "SIGPIPE", "SIGXFSZ", "SIGCHLD")


def main() -> None:
    """Lead a session, note the start on the receipt, and become the command; a failure is noted instead."""
    keep_descriptors()
    cwd, argv, environment = read_plan()
    os.setsid()
    for name in RESET:
        signal.signal(getattr(signal, name), signal.SIG_DFL)
    note(f"started {os.getpid()} {start_ticks()} {time.time_ns()}")
    stage = "cwd"
    try:
        os.chdir(cwd)
        stage = "exec"
        os.execvpe(argv[0], argv, environment)  # noqa: S606 - no shell is the whole point
    except (OSError, ValueError) as error:
        note(f"failed {stage} {getattr(error, 'errno', None) or 0}")


def keep_descriptors() -> None:
    """Let the command inherit its three streams alone; shells leave descriptors of their own behind."""
    for name in os.listdir("/proc/self/fd"):  # noqa: PTH208 - pathlib would double the start-up time
        try:
            os.set_inheritable(int(name), int(name) <= STDERR)
        except OSError:
            continue  # the descriptor of the listing itself, closed by now


def read_plan() -> tuple[bytes, list[bytes], dict[bytes, bytes]]:
    """Read the plan and wipe it: it may carry secrets, and the launcher's memory outlives this process."""
    os.lseek(PLAN, 0, os.SEEK_SET)
    with os.fdopen(os.dup(PLAN), "rb") as stream:
        cwd, count, *rest = stream.read().split(b"\0")
    os.ftruncate(PLAN, 0)
    pairs = (item.partition(b"=") for item in rest[int(count) :] if item)
    return cwd, rest[: int(count)], {name: value for name, _, value in pairs}


def start_ticks() -> int:
    """When this process started, in clock ticks since boot, as /proc tells it."""
    with open("/proc/self/stat", "rb") as stream:  # noqa: PTH123 - as above
        return int(stream.read().rpartition(b")")[2].split()[19])


def note(line: str) -> None:
    """Add one line to the receipt; its lines are shorter than anything a file system tears."""
    os.write(RECEIPT, line.encode() + b"\n")


if __name__ == "__main__":
    main()
    os._exit(127)
