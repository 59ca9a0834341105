"""Why a worker process ends: every reason carries the exit code that a supervisor reads."""

from __future__ import annotations

STOPPED = 0
FAILED = 1
USAGE = 64
TEMPORARY = 75
CONFIGURATION = 78


class WorkerError(Exception):
    """A reason to end the whole process, told to the operator in one sentence."""

    exit_code = FAILED


class ConfigurationError(WorkerError):
    """Something an operator has to change before another start can help."""

    exit_code = CONFIGURATION


class TemporaryError(WorkerError):
    """Starting again later may help without anybody changing anything."""

    exit_code = TEMPORARY


class SessionFencedError(TemporaryError):
    """Another process of this worker's name took over; this one never registers again by itself."""
