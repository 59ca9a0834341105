"""Completions: how an attempt ended, and the repair of what its program said.

`output`, `error` and `log` stay raw in the message, because nothing in them is a reason to refuse it;
`completion_payload` gives what may be stored.
"""

from __future__ import annotations

import contextlib
from typing import Annotated, Any, Final, Literal
from uuid import UUID

import msgspec
from msgspec import Meta

from tenure_contracts import bounds
from tenure_contracts.payload import OutputFlag, mend, sanitise_output, sanitise_text
from tenure_contracts.wire.codec import Answer, Report
from tenure_contracts.wire.field import ExitCode, Generation, Instant, Secret43, null_json
from tenure_contracts.wire.lease import Fence

Outcome = Literal["succeeded", "failed"]
Output = Annotated[
    msgspec.Raw,
    Meta(
        description=f"Any JSON. Over {bounds.OUTPUT_BYTES} bytes it becomes null, with a flag in the answer."
    ),
]
Error = Annotated[
    msgspec.Raw, Meta(description="An ErrorReport or null. Anything else is kept as far as it is text.")
]
StopAnswer = Literal["stopped", "already_ended", "ignored"]

UNREADABLE: Final = "unreadable_error"
"""The code of an error report that does not have the form of one."""


class ErrorReport(msgspec.Struct, frozen=True, kw_only=True):
    """Why it failed: a word for rules, a text for people."""

    code: str
    message: str


class LogReport(msgspec.Struct, frozen=True, kw_only=True):
    """What became of the output. `tail` is its end, as text, for as long as chunks are not uploaded."""

    bytes: Annotated[int, Meta(ge=0, le=2**63 - 1)]
    sha256: Secret43 | None = None
    truncated: bool = False
    tail: str | None = None


class CompleteBody(Report, frozen=True, kw_only=True):
    """`complete` without the session's generation."""

    request_id: UUID
    lease: Fence
    outcome: Outcome
    exit_code: ExitCode | None = None
    started_at: Instant | None = None
    finished_at: Instant | None = None
    output: Output = msgspec.field(default_factory=null_json)
    error: Error = msgspec.field(default_factory=null_json)
    log: Annotated[msgspec.Raw, Meta(description="A LogReport or null. Anything else is dropped.")] = (
        msgspec.field(default_factory=null_json)
    )
    stop_answer: StopAnswer | None = None


class Complete(CompleteBody, frozen=True, kw_only=True):
    """The attempt ended."""

    generation: Generation


class Completed(Answer, frozen=True, kw_only=True):
    """Answer of complete. `settled`: it had ended otherwise, the report is kept as late evidence."""

    status: Literal["applied", "replayed", "settled"]
    late: bool = False
    output_flag: OutputFlag | None = None
    attempt_status: str
    run_status: str
    server_time: Instant


class Payload(msgspec.Struct, frozen=True, kw_only=True):
    """The storable part of a report. `output` is JSON text."""

    output: str | None
    output_flag: OutputFlag | None
    error: ErrorReport | None
    log: LogReport | None


def completion_payload(message: CompleteBody) -> Payload:
    """What may be stored of a completion's output, error and log. Never raises."""
    output, flag = sanitise_output(bytes(message.output))
    return Payload(
        output=output, output_flag=flag, error=error_report(message.error), log=log_report(message.log)
    )


def error_report(raw: msgspec.Raw) -> ErrorReport | None:
    """The error as it may be stored: repaired, cut, and never refused. Null is None."""
    value = _lenient(bytes(raw))
    if value is None:
        return None
    match value:
        case {"code": str(code), "message": str(message)} if code:
            return _report(code, message)
        case {"code": str(code)} if code:
            return _report(code, "")
    return _report(UNREADABLE, bytes(raw).decode("utf-8", "replace"))


def log_report(raw: msgspec.Raw) -> LogReport | None:
    """The log facts as they may be stored; facts of another form are dropped."""
    try:
        report = msgspec.convert(_lenient(bytes(raw)), LogReport | None)
    except msgspec.ValidationError:
        return None
    if report is None or report.tail is None:
        return report
    return msgspec.structs.replace(report, tail=sanitise_text(report.tail, bounds.LOG_TAIL_CHARACTERS))


def _report(code: str, message: str) -> ErrorReport:
    return ErrorReport(
        code=sanitise_text(code, bounds.ERROR_CODE_CHARACTERS),
        message=sanitise_text(message, bounds.ERROR_MESSAGE_CHARACTERS),
    )


def _lenient(raw: bytes) -> Any:
    with contextlib.suppress(msgspec.MsgspecError, RecursionError, UnicodeError):
        return msgspec.json.decode(raw)
    with contextlib.suppress(msgspec.MsgspecError, RecursionError):
        return msgspec.json.decode(mend(raw).decode("utf-8", "replace"))
    return {}
