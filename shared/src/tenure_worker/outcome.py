"""What a completion says: decided from the receipt and from why the command was made to end. Pure."""

from __future__ import annotations

import os
from typing import Literal

from tenure_contracts.wire.lease import Stop
from tenure_worker.journal import Result
from tenure_worker.launcher import Receipt

# `ended`: by itself. Everything else is why this worker ended it.
Cause = Literal["ended", "deadline", "stop", "authority_lost", "lost_contact", "worker_stopping"]

_ERRORS: dict[Cause, tuple[str, str]] = {
    "deadline": ("deadline_exceeded", "The command was stopped by the worker because its time was over."),
    "stop": ("stopped", "The command was stopped on request."),
    "authority_lost": ("authority_lost", "The command was stopped because its lease was gone."),
    "lost_contact": (
        "lost_contact",
        "The command was stopped, as its task wants, because its lease could not be renewed for too long.",
    ),
    "worker_stopping": ("worker_stopping", "The command was stopped because its worker had to stop."),
}


def conclude(receipt: Receipt, cause: Cause, stop: Stop | None) -> Result:
    """The result of an attempt whose launcher has gone and whose session is empty.

    A command that ended by itself is judged by its exit code alone. One that was made to end has failed,
    whatever code it chose to leave with; the code is reported as it is.
    """
    if receipt.failure is not None:
        return not_spawned(*_spawn_error(receipt.failure), stop)
    if receipt.started is None:
        return not_spawned("not_spawned", "The launcher ended before the command was executed.", stop)
    has_succeeded = cause == "ended" and receipt.exit_code == 0
    code, message = _error(receipt, cause)
    return Result(
        outcome="succeeded" if has_succeeded else "failed",
        exit_code=receipt.exit_code,
        started_at=receipt.started.at,
        finished_at=receipt.ended_at,
        error_code=code,
        error_message=message,
        stop_answer=_stop_answer(cause, stop),
    )


def not_spawned(code: str, message: str, stop: Stop | None = None) -> Result:
    """The result of an attempt whose command was provably never executed."""
    return Result(
        spawned=False, error_code=code, error_message=message, stop_answer="stopped" if stop else None
    )


def _error(receipt: Receipt, cause: Cause) -> tuple[str | None, str]:
    if cause != "ended":
        return _ERRORS[cause]
    if receipt.exit_code is None:
        return "exit_unknown", "The command has ended, but its launcher was killed before it could say how."
    return None, ""


def _stop_answer(cause: Cause, stop: Stop | None) -> Literal["stopped", "already_ended"] | None:
    if stop is None:
        return None
    return "already_ended" if cause == "ended" else "stopped"


def _spawn_error(failure: tuple[str, int]) -> tuple[str, str]:
    stage, number = failure
    reason = os.strerror(number) if number else "invalid arguments"
    what = "The working directory" if stage == "cwd" else "The command"
    return "spawn_failed", f"{what} could not be {'entered' if stage == 'cwd' else 'executed'}: {reason}."
