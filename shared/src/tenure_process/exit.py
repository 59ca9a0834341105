"""How a process ends: what a supervisor and a shell script read."""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """The exit codes of every command; numbers beyond 1 as in sysexits.h."""

    DONE = 0
    """It did what it was asked to, or was asked to stop."""

    FAILED = 1
    """Something went wrong, or had to be cut when it stopped."""

    USAGE = 64
    """The command line cannot be meant."""

    TEMPORARY = 75
    """Starting it again later may help without anybody changing anything."""

    CONFIGURATION = 78
    """Somebody has to change something before another start can help."""
