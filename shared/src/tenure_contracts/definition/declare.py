"""The definitions as they are written: the keys of `tenure apply`, with their defaults."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from tenure_contracts import bounds
from tenure_contracts.cron import Misfire, Overlap
from tenure_contracts.placement import PlacementDefinition
from tenure_contracts.policy import ExitRule, RetryDefinition
from tenure_contracts.wire.field import HandlerName, Instant, SecretName

RunIf = Literal["all_succeeded", "all_done", "any_failed"]
OnFailure = Literal["fail", "continue"]


class ConcurrencyDefinition(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """At most `limit` attempts of the project hold the rendered key at the same time."""

    key: str
    limit: int = 1


class TaskDefinition(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A task as it is written. Exactly one of `command` and `handler`; durations are texts."""

    command: tuple[str, ...] | None = None
    env: dict[str, str] = msgspec.field(default_factory=dict)
    cwd: str | None = None
    stdin: str | None = None
    handler: HandlerName | None = None
    arguments: Any = None
    secrets: tuple[SecretName, ...] = ()
    placement: PlacementDefinition | None = None
    timeout: str | None = None
    kill_grace: str = "10s"
    retry: RetryDefinition | None = None
    concurrency: ConcurrencyDefinition | None = None
    priority: int = bounds.PRIORITY
    log_limit: int | str = bounds.LOG_LIMIT_BYTES
    exit_codes: dict[str, ExitRule] = msgspec.field(default_factory=dict)
    outcome_unknown_after: str | None = None
    presume_lost_after: str | None = None
    stop_on_lost_contact: str | None = None


class TriggerDefinition(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A cron rule for exactly one of `task` and `workflow`. The time zone is always written."""

    task: str | None = None
    workflow: str | None = None
    cron: str
    timezone: str
    misfire: Misfire = "fire_once"
    grace: str = "30s"
    overlap: Overlap = "allow"
    jitter: str = "0s"
    start: Instant | None = None
    end: Instant | None = None
    input: Any = None
    enabled: bool = True


class StepDefinition(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One step. Without `input` it gets the input of the run."""

    task: str
    needs: tuple[str, ...] = ()
    run_if: RunIf = "all_succeeded"
    on_failure: OnFailure = "fail"
    input: Any = None


class WorkflowDefinition(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A graph of steps by name."""

    steps: dict[str, StepDefinition]
