"""Tasks: a command or a handler, where it may run, how long, and what happens when it ends badly."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

import msgspec

from tenure_contracts import bounds
from tenure_contracts.definition import shape
from tenure_contracts.definition.command import TASK_ROOTS, check_command
from tenure_contracts.definition.declare import ConcurrencyDefinition, TaskDefinition
from tenure_contracts.digest import TASK_DOMAIN
from tenure_contracts.fault import Faults
from tenure_contracts.placement import (
    CompiledPlacement,
    compile_placement,
    placement_digest,
)
from tenure_contracts.plan import Executor, StoredPlan
from tenure_contracts.policy import ExitRule, RetryPolicy, compile_retry, read_duration

_EXIT_CODE: Final = re.compile(r"-?[1-9][0-9]{0,9}", re.ASCII)
_SIZE: Final = re.compile(r"([1-9][0-9]{0,8})(B|KiB|MiB)", re.ASCII)
_UNITS: Final = {"B": 1, "KiB": 1024, "MiB": 1024 * 1024}


class TaskSpec(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The immutable content of a revision, which its digest covers. `plan` still has its templates."""

    plan: StoredPlan
    placement: CompiledPlacement
    priority: int
    retry: RetryPolicy
    concurrency: ConcurrencyDefinition | None


@dataclass(frozen=True, slots=True)
class CompiledTask:
    """What publication stores. `spec_json` is the canonical text of `spec`, `digest` its digest."""

    name: str
    spec: TaskSpec
    spec_json: str
    digest: bytes
    placement_digest: bytes

    @property
    def plan(self) -> StoredPlan:
        """The plan with its templates."""
        return self.spec.plan

    @property
    def placement(self) -> CompiledPlacement:
        """The canonical placement."""
        return self.spec.placement

    @property
    def retry(self) -> RetryPolicy:
        """The compiled policy."""
        return self.spec.retry

    @property
    def priority(self) -> int:
        """0 to 9; greater is earlier."""
        return self.spec.priority

    @property
    def timeout_us(self) -> int | None:
        """The time limit of an attempt, if any."""
        return self.spec.plan.timeout_us


def read_task(value: object, path: str = "$") -> TaskDefinition:
    """The definition in a plain value. Raises DefinitionErrors."""
    return shape.read_or_raise(value, TaskDefinition, path)


def compile_task(name: str, definition: TaskDefinition, path: str = "$") -> CompiledTask:
    """Validate and compile. Raises DefinitionErrors with every fault that was found."""
    faults = Faults(path)
    shape.check_name_at(name, "task", faults)
    executor: Executor = "handler" if definition.handler is not None else "command"
    check_command(definition, faults)
    plan = _plan(definition, executor, faults)
    spec = TaskSpec(
        plan=plan,
        placement=compile_placement(
            definition.placement, executor, definition.handler, faults.at("placement")
        ),
        priority=_priority(definition.priority, faults),
        retry=_policy(name, definition, plan, faults),
        concurrency=_concurrency(definition.concurrency, faults.at("concurrency")),
    )
    faults.raise_if_any()
    text, spec_digest = shape.seal(TASK_DOMAIN, spec, faults)
    faults.raise_if_any()
    return CompiledTask(name, spec, text, spec_digest, placement_digest(spec.placement))


def decode_task_spec(text: str | bytes) -> TaskSpec:
    """Read the stored specification of a revision. Raises msgspec.DecodeError."""
    return shape.decode_spec(text, TaskSpec)


def _plan(definition: TaskDefinition, executor: Executor, faults: Faults) -> StoredPlan:
    return StoredPlan(
        executor=executor,
        argv=definition.command,
        env=definition.env,
        cwd=definition.cwd,
        stdin=definition.stdin,
        handler=definition.handler,
        arguments=definition.arguments,
        timeout_us=_optional(
            definition.timeout, faults.at("timeout"), bounds.TIMEOUT_US_MIN, bounds.TIMEOUT_US_MAX
        ),
        kill_grace_us=read_duration(
            definition.kill_grace, faults.at("kill_grace"), 0, bounds.KILL_GRACE_US_MAX
        ),
        stop_on_lost_contact_us=_silence(definition.stop_on_lost_contact, faults.at("stop_on_lost_contact")),
        secrets=definition.secrets,
        log_limit_bytes=_log_limit(definition.log_limit, faults.at("log_limit")),
    )


def _policy(name: str, definition: TaskDefinition, plan: StoredPlan, faults: Faults) -> RetryPolicy:
    policy = compile_retry(definition.retry, faults.at("retry"), seed=name)
    _check_silence(definition, policy, faults)
    return msgspec.structs.replace(
        policy,
        exit_codes=_exit_codes(definition.exit_codes, faults.at("exit_codes")),
        outcome_unknown_after_us=_silence(
            definition.outcome_unknown_after, faults.at("outcome_unknown_after")
        ),
        presume_lost_after_us=_optional(
            definition.presume_lost_after,
            faults.at("presume_lost_after"),
            bounds.PRESUME_LOST_US_MIN,
            bounds.SILENCE_US_MAX,
        ),
        stop_on_lost_contact_us=plan.stop_on_lost_contact_us,
    )


def _check_silence(definition: TaskDefinition, policy: RetryPolicy, faults: Faults) -> None:
    if definition.presume_lost_after is None:
        return
    if policy.safety == "unknown":
        faults.at("presume_lost_after").add(
            "needs a declared safety: silence does not prove that nothing was done, so write "
            "`retry: {safety: idempotent}` or `safety: deduplicated`",
            definition.presume_lost_after,
        )
    if definition.outcome_unknown_after is not None:
        faults.at("outcome_unknown_after").add("excludes presume_lost_after: choose one of them")


def _optional(text: str | None, faults: Faults, low_us: int, high_us: int) -> int | None:
    return None if text is None else read_duration(text, faults, low_us, high_us)


def _silence(text: str | None, faults: Faults) -> int | None:
    return _optional(text, faults, bounds.SILENCE_US_MIN, bounds.SILENCE_US_MAX)


def _priority(priority: int, faults: Faults) -> int:
    if not 0 <= priority <= bounds.PRIORITY_MAX:
        faults.at("priority").add(f"must be 0 to {bounds.PRIORITY_MAX}", priority)
    return priority


def _concurrency(definition: ConcurrencyDefinition | None, faults: Faults) -> ConcurrencyDefinition | None:
    if definition is None:
        return None
    if not 1 <= definition.limit <= bounds.CONCURRENCY_LIMIT_MAX:
        faults.at("limit").add(f"must be 1 to {bounds.CONCURRENCY_LIMIT_MAX}", definition.limit)
    if not 1 <= len(definition.key) <= bounds.CONCURRENCY_KEY_CHARACTERS:
        faults.at("key").add(f"must have 1 to {bounds.CONCURRENCY_KEY_CHARACTERS} characters", definition.key)
    shape.check_templates(definition.key, TASK_ROOTS, faults.at("key"))
    return definition


def _exit_codes(rules: dict[str, ExitRule], faults: Faults) -> dict[str, ExitRule]:
    if len(rules) > bounds.EXIT_CODE_RULES:
        faults.add(f"has more than {bounds.EXIT_CODE_RULES} rules", len(rules))
    for code in rules:
        if not _EXIT_CODE.fullmatch(code) or not bounds.EXIT_CODE_MIN <= int(code) <= bounds.EXIT_CODE_MAX:
            faults.at(code).add("is not an exit code that a rule can have: write a whole number but 0", code)
    return rules


def _log_limit(limit: int | str, faults: Faults) -> int:
    if isinstance(limit, str):
        match = _SIZE.fullmatch(limit)
        if match is None:
            faults.add("is not a size: write bytes, or a whole number with B, KiB or MiB", limit)
            return 0
        limit = int(match[1]) * _UNITS[match[2]]
    if not 0 <= limit <= bounds.LOG_LIMIT_BYTES_MAX:
        faults.add(f"must be 0 to {bounds.LOG_LIMIT_BYTES_MAX} bytes", limit)
    return limit
