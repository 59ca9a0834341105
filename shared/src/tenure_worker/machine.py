"""What this machine says about itself and its processes, read from /proc.

A process id alone identifies nothing: ids are used again, by this boot and by the next, and mean something
else in every container. The whole of `Identity` is what makes absence provable; whatever cannot be read is
`None` and then proves nothing.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from msgspec import Struct

_MACHINE_ID_FILES = (Path("/etc/machine-id"), Path("/var/lib/dbus/machine-id"))
_BOOT_ID_FILE = Path("/proc/sys/kernel/random/boot_id")


def boot_clock() -> float:
    """Seconds since boot, those spent asleep included: a suspended machine has not been in contact either."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class Identity(Struct, frozen=True, kw_only=True):
    """One process, told apart from every other one on every machine."""

    machine: str | None
    boot: str | None
    pid_namespace: str | None
    pid: int
    start_ticks: int | None


class ProcessStat(Struct, frozen=True):
    """The few columns of /proc/PID/stat that matter here."""

    pid: int
    state: str
    group: int
    session: int
    start_ticks: int


def machine_id(environ: Mapping[str, str] = os.environ) -> str | None:
    """The id of this machine; `TENURE_MACHINE_ID` wins, for images that carry no machine-id file."""
    given = environ.get("TENURE_MACHINE_ID", "").strip()
    return given or next(filter(None, map(_read_text, _MACHINE_ID_FILES)), None)


def identify(pid: int, machine: str | None) -> Identity:
    """The identity of a process that is alive now."""
    stat = read_stat(pid)
    return Identity(
        machine=machine,
        boot=_read_text(_BOOT_ID_FILE),
        pid_namespace=_pid_namespace(),
        pid=pid,
        start_ticks=stat.start_ticks if stat else None,
    )


def read_stat(pid: int) -> ProcessStat | None:
    """The columns of one process, or None when it is gone."""
    try:
        line = Path(f"/proc/{pid}/stat").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return parse_stat(line)


def parse_stat(line: bytes) -> ProcessStat:
    """Parse one line of /proc/PID/stat; the name may contain spaces and brackets, so count from its end."""
    pid = int(line[: line.index(b" ")])
    columns = line[line.rindex(b")") + 2 :].split()
    return ProcessStat(pid, columns[0].decode(), int(columns[2]), int(columns[3]), int(columns[19]))


def session_members(session: int) -> list[int]:
    """Processes alive in a session, or in the group of the same number. Zombies run nothing."""
    return [
        stat.pid
        for stat in _all_stats()
        if session in (stat.session, stat.group) and stat.state not in ("Z", "X")
    ]


def signal_session(session: int, number: signal.Signals) -> None:
    """Signal every process of a session: its leading group at once, then whoever made a group of its own."""
    _quietly(os.killpg, session, number)
    for pid in session_members(session):
        if number == signal.SIGKILL or _left_the_group(pid, session):
            _quietly(os.kill, pid, number)


def _left_the_group(pid: int, session: int) -> bool:
    stat = read_stat(pid)
    return stat is not None and stat.group != session


def _quietly(send: Callable[[int, int], None], target: int, number: signal.Signals) -> None:
    try:
        send(target, number)
    except (ProcessLookupError, PermissionError):
        return  # gone meanwhile, or not ours to signal: the next look at the session tells


def _all_stats() -> Iterator[ProcessStat]:
    for entry in os.scandir("/proc"):
        if entry.name.isdecimal() and (stat := read_stat(int(entry.name))) is not None:
            yield stat


def _pid_namespace() -> str | None:
    try:
        return os.readlink("/proc/self/ns/pid")  # noqa: PTH115 - a magic link, not a path
    except OSError:
        return None


def _read_text(path: Path) -> str | None:
    try:
        return path.read_text().strip() or None
    except OSError:
        return None
