"""The machine: how many cores there are, who gets which, and how long somebody was at work."""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass
from pathlib import Path
from typing import Final

TICK_S: Final = 1 / os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Cores:
    """Which cores the server under test and the load generator have to themselves, if there are two.

    PostgreSQL and its own benchmark run wherever the system puts them.
    """

    server: frozenset[int]
    load: frozenset[int]


def share_cores() -> Cores:
    """The first core of this process for the server and the second for the load; one core serves both."""
    ours = sorted(os.sched_getaffinity(0))
    return Cores(server=frozenset(ours[:1]), load=frozenset(ours[1:2] or ours[:1]))


def describe() -> dict[str, object]:
    """The facts that a reader wants beside figures; `load average` is what others do, asked before a run."""
    return {
        "cores": len(os.sched_getaffinity(0)),
        "processor": _processor(),
        "system": platform.platform(terse=True),
        "python": platform.python_version(),
        "load average": round(os.getloadavg()[0], 1),
    }


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def parent_of(pid: int) -> int:
    """The process that started this one."""
    return int(_stat(pid)[1])


def cpu_s(pid: int) -> float:
    """Seconds of processor time of one process."""
    return sum(map(int, _stat(pid)[11:13])) * TICK_S


def family_cpu_s(pid: int) -> float:
    """The same of a process with its children, those that have ended and were waited for included."""
    ended_s = sum(map(int, _stat(pid)[13:15])) * TICK_S
    return cpu_s(pid) + ended_s + sum(map(cpu_s, _children(pid)))


def _children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def _stat(pid: int) -> list[str]:
    """The fields of /proc/PID/stat from the third on; the second may hold spaces and parentheses."""
    return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
