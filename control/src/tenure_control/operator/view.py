"""Rows of the views as messages of the contracts."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

import msgspec

from tenure_contracts import base64url
from tenure_contracts.definition import TriggerSpec, decode_trigger_spec
from tenure_contracts.operator.definition import DefinitionKind, Project, Published
from tenure_contracts.operator.run import CancelIntent, Run, RunAttempt, RunEvent
from tenure_contracts.operator.worker import Credential, Worker, WorkerSession
from tenure_contracts.wire.completion import ErrorReport, LogReport
from tenure_contracts.wire.field import NULL, Instant, instant
from tenure_control.decision.cron import next_fires
from tenure_postgres.database import Row

FIRES_SHOWN: Final = 5

_TICK: Final = timedelta(microseconds=1)


def project_of(row: Row) -> Project:
    """A project."""
    return Project(
        project=row["project"],
        state=row["state"],
        weight=row["weight"],
        version=row["version"],
        created_at=Instant.of(row["created_at"]),
    )


def task_of(project: str, row: Row) -> Published:
    """A revision of a task."""
    return _published("task", project, row)


def trigger_of(project: str, row: Row) -> Published:
    """A revision of a trigger; its next fire times are those of the wall clock, without jitter."""
    spec = decode_trigger_spec(row["spec"])
    fires = row["state"] == "active" and spec.enabled and row["revision"] == row["current_revision"]
    return msgspec.structs.replace(
        _published("trigger", project, row),
        task=row["task"],
        task_revision=row["task_revision"],
        next_fire_at=_next_fires(spec, Instant.of(row["now"])) if fires else [],
        last_fire_at=instant(row["last_fire_at"]),
    )


def run_of(row: Row, *, replayed: bool = False) -> Run:
    """A run with what needs attention."""
    cancel = row["cancel_requested_at"]
    return Run(
        run=row["run"],
        project=row["project"],
        kind=row["kind"],
        task=row["task"],
        revision=row["revision"],
        status=row["status"],
        version=row["version"],
        attempts=row["attempts"],
        priority=row["priority"],
        cause=row["cause"],
        trigger=row["trigger"],
        scheduled_for=instant(row["scheduled_for"]),
        rerun_of=row["rerun_of"],
        created_at=Instant.of(row["created_at"]),
        queued_at=instant(row["queued_at"]),
        started_at=instant(row["started_at"]),
        finished_at=instant(row["finished_at"]),
        cancel=cancel and CancelIntent(reason=row["cancel_reason"], requested_at=Instant.of(cancel)),
        error=_error(row),
        input=_json(row["input"]),
        output=_json(row["output"]),
        output_flag=row["output_flag"],
        attention=row["attention"],
        attention_since=instant(row["attention_since"]),
        replayed=replayed,
    )


def event_of(row: Row) -> RunEvent:
    """An event of a run."""
    return RunEvent(
        sequence=row["sequence"],
        type=row["type"],
        from_=row["from_status"],
        to=row["to_status"],
        actor=row["actor"],
        at=Instant.of(row["at"]),
        payload=_json(row["payload"]),
    )


def attempt_of(row: Row) -> RunAttempt:
    """An attempt of a run."""
    return RunAttempt(
        attempt=row["attempt"],
        number=row["number"],
        try_=row["try"],
        step=row["step"],
        status=row["status"],
        worker=row["worker"],
        lease_generation=row["lease_generation"],
        started_at=instant(row["started_at"]),
        finished_at=instant(row["finished_at"]),
        exit_code=row["exit_code"],
        error=_error(row),
        log=msgspec.json.decode(row["log"], type=LogReport | None) if row["log"] else None,
    )


def worker_of(row: Row) -> Worker:
    """A worker with its current session."""
    return Worker(worker=row["worker"], session=None if row["session"] is None else session_of(row))


def session_of(row: Row) -> WorkerSession:
    """A session of a worker."""
    return WorkerSession(
        session=str(row["session"]),
        generation=row["generation"],
        status=row["status"],
        labels=msgspec.json.decode(row["labels"]),
        executors=row["executors"],
        handlers=row["handlers"],
        limit=row["lease_limit"],
        leases=row["leases"],
        agent=row["agent"],
        registered_at=Instant.of(row["registered_at"]),
        seen_at=Instant.of(row["seen_at"]),
        expires_at=Instant.of(row["expires_at"]),
        ended_at=instant(row["ended_at"]),
        replaced_by=None if row["replaced_by"] is None else str(row["replaced_by"]),
        drain_requested=row["drain_requested"],
    )


def credential_of(row: Row) -> Credential:
    """A credential without its secret."""
    return Credential(
        credential=row["credential"],
        worker=row["worker"],
        version=row["version"],
        state=row["state"],
        created_at=Instant.of(row["created_at"]),
        expires_at=instant(row["expires_at"]),
        first_used_at=instant(row["first_used_at"]),
    )


def _published(kind: DefinitionKind, project: str, row: Row) -> Published:
    return Published(
        name=row["name"],
        kind=kind,
        project=project,
        revision=row["revision"],
        digest=base64url.encode(row["digest"]),
        state=row["state"],
        created_at=Instant.of(row["created_at"]),
        definition=msgspec.Raw(row["spec"].encode()),
    )


def _next_fires(spec: TriggerSpec, now: Instant) -> list[Instant]:
    # The start itself may be an occurrence, and the next one is looked for strictly after a moment.
    after = now if spec.start is None else max(now, Instant.of(spec.start - _TICK))
    fires = next_fires(spec.cron, spec.timezone, after, FIRES_SHOWN)
    return [Instant.of(fire) for fire in fires if spec.end is None or fire <= spec.end]


def _error(row: Row) -> ErrorReport | None:
    if row["error_code"] is None:
        return None
    return ErrorReport(code=row["error_code"], message=row["error_message"] or "")


def _json(text: str | None) -> msgspec.Raw:
    return NULL if text is None else msgspec.Raw(text.encode())
