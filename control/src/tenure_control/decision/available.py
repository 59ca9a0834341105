"""What a definition may say and the system does not do yet: refused by path, never ignored."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Final

from tenure_contracts import bounds
from tenure_contracts.definition import TaskDefinition, TriggerDefinition

Missing = tuple[str, str]
"""Path and reason."""

_TASK_PARTS: Final[Mapping[str, Callable[[TaskDefinition], bool]]] = MappingProxyType(
    {
        "secrets": lambda task: bool(task.secrets),
        "concurrency": lambda task: task.concurrency is not None,
        "log_limit": lambda task: task.log_limit != bounds.LOG_LIMIT_BYTES,
        "outcome_unknown_after": lambda task: task.outcome_unknown_after is not None,
        "presume_lost_after": lambda task: task.presume_lost_after is not None,
        "stop_on_lost_contact": lambda task: task.stop_on_lost_contact is not None,
    }
)

_TRIGGER_PARTS: Final[Mapping[str, Callable[[TriggerDefinition], bool]]] = MappingProxyType(
    {
        "workflow": lambda trigger: trigger.workflow is not None,
        "overlap": lambda trigger: trigger.overlap in ("queue_one", "cancel_other"),
    }
)


def missing_for_task(task: TaskDefinition, path: str) -> Iterator[Missing]:
    """Parts of this task that nothing executes yet."""
    for part, uses in _TASK_PARTS.items():
        if uses(task):
            yield f"{path}.{part}", f"`{part}` is not available yet"


def missing_for_trigger(trigger: TriggerDefinition, path: str) -> Iterator[Missing]:
    """Parts of this trigger that nothing executes yet."""
    for part, uses in _TRIGGER_PARTS.items():
        if uses(trigger):
            value = getattr(trigger, part)
            yield f"{path}.{part}", f"`{part}: {value}` is not available yet"
