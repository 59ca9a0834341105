"""Why a worker process ends: every reason carries the exit code that a supervisor reads."""

from __future__ import annotations

from tenure_process.exit import ExitCode


class WorkerError(Exception):
    """A reason to end the whole process, told to the operator in one sentence."""

    exit_code = ExitCode.FAILED


class ConfigurationError(WorkerError):
    """Something an operator has to change before another start can help."""

    exit_code = ExitCode.CONFIGURATION


class TemporaryError(WorkerError):
    """Starting again later may help without anybody changing anything."""

    exit_code = ExitCode.TEMPORARY


class SessionFencedError(TemporaryError):
    """Another process of this worker's name took over; this one never registers again by itself."""
