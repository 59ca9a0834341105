"""Runs: submitting, showing, events, attempts, steps, explanation."""

from __future__ import annotations

from typing import Annotated, Any, Literal
from uuid import UUID

import msgspec
from msgspec import UNSET, Meta, UnsetType

from tenure_contracts import bounds
from tenure_contracts.payload import json_fault
from tenure_contracts.run import Kind
from tenure_contracts.wire.codec import Answer, Request, decode
from tenure_contracts.wire.completion import ErrorReport, LogReport
from tenure_contracts.wire.field import NO_NUL, Generation, Instant, Name, null_json

Attention = Literal["waiting_for_evidence", "held", "no_worker_matches", "declined", "waiting_for_slot"]
Priority = Annotated[int, Meta(ge=0, le=bounds.PRIORITY_MAX)]


class StartRun(Request, frozen=True, kw_only=True):
    """Submit one run of exactly one of task and workflow. Bad input is refused here."""

    task: Name | None = None
    workflow: Name | None = None
    input: msgspec.Raw = msgspec.field(default_factory=null_json)
    idempotency_key: Annotated[
        str, Meta(min_length=1, max_length=bounds.REQUEST_KEY_CHARACTERS, pattern=NO_NUL)
    ]
    priority: Priority | None = None
    revision: Generation | None = None

    def __post_init__(self) -> None:
        if (self.task is None) == (self.workflow is None):
            raise ValueError("needs exactly one of `task` and `workflow`")
        fault = json_fault(bytes(self.input), bounds.INPUT_BYTES)
        if fault == "too_large":
            raise ValueError(f"`input` takes more than {bounds.INPUT_BYTES} bytes")
        if fault is not None:
            raise ValueError("`input` has NUL, a lone surrogate, too much depth, or is not JSON")


class StartRuns(Request, frozen=True, kw_only=True):
    """Submit many at once, in one transaction."""

    runs: Annotated[list[StartRun], Meta(min_length=1, max_length=bounds.RUNS_PER_SUBMISSION)]


class _Outline(msgspec.Struct):
    runs: msgspec.Raw | UnsetType = UNSET


def decode_submission(body: bytes) -> StartRun | StartRuns:
    """Read the body of a submission: one run, or a list under `runs`. Raises Refusal."""
    try:
        many = msgspec.json.decode(body, type=_Outline).runs is not UNSET
    except (msgspec.MsgspecError, RecursionError, UnicodeError):
        many = False
    return decode(body, StartRuns) if many else decode(body, StartRun)


class CancelIntent(Answer, frozen=True, kw_only=True):
    """The run shall end; whether it did is its status."""

    reason: Literal["user", "policy"]
    requested_at: Instant


class Run(Answer, frozen=True, kw_only=True):
    """One run. `attempts` is a number; `replayed` tells that this submission was made before."""

    run: UUID
    project: str
    kind: Kind
    task: str | UnsetType = UNSET
    workflow: str | UnsetType = UNSET
    revision: int
    status: str
    version: int
    attempts: int
    priority: int
    cause: str | None = None
    trigger: str | None = None
    scheduled_for: Instant | None = None
    rerun_of: UUID | None = None
    created_at: Instant
    queued_at: Instant | None = None
    started_at: Instant | None = None
    finished_at: Instant | None = None
    cancel: CancelIntent | None = None
    error: ErrorReport | None = None
    input: msgspec.Raw = msgspec.field(default_factory=null_json)
    output: msgspec.Raw = msgspec.field(default_factory=null_json)
    output_flag: str | None = None
    attention: Attention | None = None
    attention_since: Instant | None = None
    replayed: bool = False


class RunsStarted(Answer, frozen=True, kw_only=True):
    """Answer of a list submission, in the order of the request."""

    runs: list[Run]


class RunEvent(Answer, frozen=True, kw_only=True):
    """One event of a run."""

    sequence: int
    type: str
    from_: str | None = msgspec.field(name="from", default=None)
    to: str | None = None
    actor: str
    at: Instant
    payload: Any = None


class RunAttempt(Answer, frozen=True, kw_only=True):
    """One attempt of a run."""

    attempt: UUID
    number: int
    try_: int = msgspec.field(name="try")
    step: str | None = None
    status: str
    worker: str | None = None
    lease_generation: int | None = None
    started_at: Instant | None = None
    finished_at: Instant | None = None
    exit_code: int | None = None
    error: ErrorReport | None = None
    log: LogReport | None = None
    """What became of the output, with its end as text, while chunks of it are not kept."""


class RunStep(Answer, frozen=True, kw_only=True):
    """One step of a workflow run."""

    step: str
    task: str
    revision: int
    status: str
    epoch: int
    needs: list[str]
    attempts: int
    started_at: Instant | None = None
    finished_at: Instant | None = None


class Explanation(Answer, frozen=True, kw_only=True):
    """Why a run is not running. `workers` maps a worker to the reasons why it does not match."""

    run: UUID
    status: str
    attention: Attention | None = None
    reason: str
    since: Instant | None = None
    workers: dict[str, list[str]] = msgspec.field(default_factory=dict)
    holders: list[UUID] = msgspec.field(default_factory=list)
