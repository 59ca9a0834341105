"""The routes of the operator API, all of them: one table."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Final

from tenure_contracts import bounds
from tenure_control.decision.publication import Kind
from tenure_control.operator import (
    apply,
    cadence,
    cancel,
    definition,
    project,
    run,
    submission,
    trigger,
    unavailable,
    worker,
)
from tenure_control.operator.gate import Call, answered
from tenure_control.operator.surface import Surface
from tenure_http import Route

_SMALL: Final = 16 * 1024
_DEFINITION: Final = 2 * bounds.DEFINITION_BYTES
_PROJECT: Final = "/v1/projects/{project}"
_WORKER: Final = "/v1/workers/{worker}"


@dataclass(frozen=True, slots=True)
class _Row:
    name: str
    method: str
    path: str
    call: Call
    body_bytes: int = 0


def _definitions(kind: Kind) -> tuple[_Row, ...]:
    path = f"{_PROJECT}/{kind}s/{{{kind}}}"
    shown: Call = partial(definition.show, kind=kind)
    return (
        _Row(f"put_{kind}", "PUT", path, partial(definition.put, kind=kind), _DEFINITION),
        _Row(f"show_{kind}", "GET", path, shown),
        _Row(f"show_{kind}_revision", "GET", f"{path}/revisions/{{revision}}", shown),
        _Row(f"list_{kind}s", "GET", f"{_PROJECT}/{kind}s", partial(definition.show_all, kind=kind)),
    )


def _missing(name: str, method: str, path: str) -> _Row:
    return _Row(name, method, path, unavailable.refuse, 0 if method == "GET" else _DEFINITION)


_TABLE: Final = (
    _Row("list_projects", "GET", "/v1/projects", project.show_all),
    _Row("put_project", "PUT", _PROJECT, project.put, _SMALL),
    _Row("show_project", "GET", _PROJECT, project.show),
    _missing("archive_project", "POST", f"{_PROJECT}/archive"),
    *_definitions("task"),
    _missing("archive_task", "POST", f"{_PROJECT}/tasks/{{task}}/archive"),
    *_definitions("trigger"),
    _Row(
        "pause_trigger",
        "POST",
        f"{_PROJECT}/triggers/{{trigger}}/pause",
        partial(trigger.set_state, state="paused"),
        _SMALL,
    ),
    _Row(
        "resume_trigger",
        "POST",
        f"{_PROJECT}/triggers/{{trigger}}/resume",
        partial(trigger.set_state, state="active"),
        _SMALL,
    ),
    _Row("fire_trigger", "POST", f"{_PROJECT}/triggers/{{trigger}}/fire", trigger.fire, _SMALL),
    _missing("archive_trigger", "POST", f"{_PROJECT}/triggers/{{trigger}}/archive"),
    _missing("put_workflow", "PUT", f"{_PROJECT}/workflows/{{workflow}}"),
    _missing("show_workflow", "GET", f"{_PROJECT}/workflows/{{workflow}}"),
    _missing("show_workflow_revision", "GET", f"{_PROJECT}/workflows/{{workflow}}/revisions/{{revision}}"),
    _missing("list_workflows", "GET", f"{_PROJECT}/workflows"),
    _missing("archive_workflow", "POST", f"{_PROJECT}/workflows/{{workflow}}/archive"),
    _Row("apply", "POST", "/v1/apply", apply.apply, bounds.APPLY_BYTES),
    _Row("start_runs", "POST", f"{_PROJECT}/runs", submission.start, bounds.APPLY_BYTES),
    _Row("list_runs", "GET", f"{_PROJECT}/runs", run.show_all),
    _Row("show_run", "GET", f"{_PROJECT}/runs/{{run}}", run.show),
    _Row("list_events", "GET", f"{_PROJECT}/runs/{{run}}/events", run.show_events),
    _Row("list_attempts", "GET", f"{_PROJECT}/runs/{{run}}/attempts", run.show_attempts),
    _missing("list_steps", "GET", f"{_PROJECT}/runs/{{run}}/steps"),
    _missing("show_logs", "GET", f"{_PROJECT}/runs/{{run}}/logs"),
    _missing("explain_run", "GET", f"{_PROJECT}/runs/{{run}}/explain"),
    _Row("cancel_run", "POST", f"{_PROJECT}/runs/{{run}}/cancel", cancel.cancel, _SMALL),
    _missing("rerun", "POST", f"{_PROJECT}/runs/{{run}}/rerun"),
    _missing("attest_attempt", "POST", f"{_PROJECT}/attempts/{{attempt}}/attest"),
    _Row("list_workers", "GET", "/v1/workers", worker.show_all),
    _Row("show_worker", "GET", _WORKER, worker.show),
    _Row("drain_worker", "POST", f"{_WORKER}/drain", worker.drain, _SMALL),
    _Row("list_credentials", "GET", f"{_WORKER}/credentials", worker.show_credentials),
    _Row("issue_credential", "POST", f"{_WORKER}/credentials", worker.issue, _SMALL),
    _Row("rotate_credential", "POST", f"{_WORKER}/credentials/{{credential}}/rotate", worker.rotate, _SMALL),
    _Row("revoke_credential", "POST", f"{_WORKER}/credentials/{{credential}}/revoke", worker.revoke, _SMALL),
    _missing("list_holds", "GET", "/v1/quarantine"),
    _missing("show_hold", "GET", "/v1/quarantine/{id}"),
    _missing("resolve_hold", "POST", "/v1/quarantine/{id}/resolve"),
    _missing("list_recovery", "GET", "/v1/recovery"),
    _missing("release_recovery", "POST", "/v1/recovery/{id}/release"),
    _Row("show_cadence", "GET", "/v1/cadence", cadence.show),
    _missing("list_audit", "GET", "/v1/audit"),
)


def operator_routes(surface: Surface) -> tuple[Route, ...]:
    """Every route of the operator API over one surface, for a `Router` behind a readiness gate.

    The handlers raise `Refusal` for whatever a caller can act on. They hold no state: a process that opens
    its database anew makes a new surface and a new table.
    """
    return tuple(
        Route(row.name, row.method, row.path, partial(answered, row.call, surface), row.body_bytes)
        for row in _TABLE
    )
