"""What publishing definitions changes: from what is stored and what is wanted to new revisions.

A task gets a new revision when its digest differs from the current one. A trigger pins the revision that its
task has after the publication, and gets a new revision when its own digest or that pin changed. Triggers that
are not part of a publication keep what they pin: nothing ever follows "latest" by itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final, Literal

import msgspec

from tenure_contracts.definition import CompiledTask, CompiledTrigger, TaskSpec, decode_task_spec
from tenure_contracts.error import Refusal
from tenure_contracts.fault import Faults
from tenure_contracts.template import TemplateError
from tenure_control.decision.render import render_trigger

Kind = Literal["task", "trigger"]
ChangeKind = Literal["create", "update", "none"]

# Which paths an occurrence offers does not depend on its moment: any moment shows whether templates render.
_SAMPLE_MOMENT: Final = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Publication:
    """What somebody wants to be current in one project.

    `single`: the publication is one definition that stands at `$` itself.
    """

    project: str
    tasks: tuple[CompiledTask, ...] = ()
    triggers: tuple[CompiledTrigger, ...] = ()
    single: bool = False

    @property
    def task_names(self) -> list[str]:
        """Every task that has to be known: defined here, or the target of a trigger."""
        targets = {trigger.spec.task for trigger in self.triggers if trigger.spec.task is not None}
        return sorted(targets | {task.name for task in self.tasks})

    @property
    def trigger_names(self) -> list[str]:
        """The triggers that are defined here."""
        return sorted(trigger.name for trigger in self.triggers)


@dataclass(frozen=True, slots=True)
class CurrentTask:
    """The current revision of a task."""

    revision: int
    digest: bytes
    spec: str
    state: str


@dataclass(frozen=True, slots=True)
class Pin:
    """An exact task revision."""

    task: str
    revision: int
    digest: bytes


@dataclass(frozen=True, slots=True)
class CurrentTrigger:
    """The current revision of a trigger."""

    revision: int
    digest: bytes
    spec: str
    state: str
    pin: Pin


@dataclass(frozen=True, slots=True)
class Current:
    """What is stored. `project_state` is None while the project does not exist."""

    project_state: str | None = None
    tasks: Mapping[str, CurrentTask] = field(default_factory=dict)
    triggers: Mapping[str, CurrentTrigger] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TaskChange:
    """One task after the publication."""

    task: CompiledTask
    change: ChangeKind
    revision: int
    diff: dict[str, list[Any]] | None

    @property
    def pin(self) -> Pin:
        """What a trigger of this publication pins."""
        return Pin(self.task.name, self.revision, self.task.digest)


@dataclass(frozen=True, slots=True)
class TriggerChange:
    """One trigger after the publication."""

    trigger: CompiledTrigger
    pin: Pin
    change: ChangeKind
    revision: int
    diff: dict[str, list[Any]] | None


@dataclass(frozen=True, slots=True)
class Decision:
    """Everything that a publication names, in the order of the request, changed or not."""

    tasks: tuple[TaskChange, ...]
    triggers: tuple[TriggerChange, ...]

    @property
    def changes_anything(self) -> bool:
        """Whether there is something to write."""
        return any(each.change != "none" for each in self.tasks) or any(
            each.change != "none" for each in self.triggers
        )


def decide_publication(wanted: Publication, current: Current) -> Decision:
    """What this publication changes.

    Raises DefinitionErrors for a trigger whose task is unknown or whose input does not fill the task's
    templates, and Refusal `archived` for an archived project or name.
    """
    _refuse_archived(wanted, current)
    tasks = tuple(_decide_task(task, current.tasks.get(task.name)) for task in wanted.tasks)
    faults = Faults()
    pins = {each.task.name: each.pin for each in tasks}
    specs = {each.task.name: each.task.spec for each in tasks}
    triggers = []
    for trigger in wanted.triggers:
        part = faults if wanted.single else faults.at("triggers", trigger.name)
        name = trigger.spec.task or ""
        if name in current.tasks and name not in pins:
            pins[name] = Pin(name, current.tasks[name].revision, current.tasks[name].digest)
            specs[name] = decode_task_spec(current.tasks[name].spec)
        if name not in pins:
            part.at("task").add("is not a task of this project, nor defined here", name)
            continue
        _check_input(trigger, specs[name], part)
        triggers.append(_decide_trigger(trigger, pins[name], current.triggers.get(trigger.name)))
    faults.raise_if_any()
    return Decision(tasks, tuple(triggers))


def difference(old: Any, new: Any, path: str = "") -> dict[str, list[Any]]:
    """The paths at which two JSON values differ, each with the old and the new value; None for none."""
    if isinstance(old, dict) and isinstance(new, dict):
        found: dict[str, list[Any]] = {}
        for key in sorted({*old, *new}):
            found |= difference(old.get(key), new.get(key), f"{path}.{key}" if path else key)
        return found
    return {} if _same(old, new) else {path: [old, new]}


def _same(old: Any, new: Any) -> bool:
    # In JSON true is not 1, in Python it is.
    return bool(msgspec.json.encode(old, order="sorted") == msgspec.json.encode(new, order="sorted"))


def _refuse_archived(wanted: Publication, current: Current) -> None:
    if current.project_state == "archived":
        raise Refusal("archived", f"Project {wanted.project} is archived.")
    for name, task in current.tasks.items():
        if task.state == "archived":
            raise Refusal("archived", f"Task {name} is archived.")
    for name, trigger in current.triggers.items():
        if trigger.state == "archived":
            raise Refusal("archived", f"Trigger {name} is archived.")


def _decide_task(task: CompiledTask, current: CurrentTask | None) -> TaskChange:
    if current is None:
        return TaskChange(task, "create", 1, None)
    if current.digest == task.digest:
        return TaskChange(task, "none", current.revision, None)
    return TaskChange(task, "update", current.revision + 1, _spec_difference(current.spec, task.spec_json))


def _decide_trigger(trigger: CompiledTrigger, pin: Pin, current: CurrentTrigger | None) -> TriggerChange:
    if current is None:
        return TriggerChange(trigger, pin, "create", 1, None)
    if current.digest == trigger.digest and current.pin == pin:
        return TriggerChange(trigger, pin, "none", current.revision, None)
    diff = _spec_difference(current.spec, trigger.spec_json)
    diff |= difference({"task_revision": current.pin.revision}, {"task_revision": pin.revision})
    return TriggerChange(trigger, pin, "update", current.revision + 1, diff)


def _spec_difference(old: str, new: str) -> dict[str, list[Any]]:
    return difference(msgspec.json.decode(old), msgspec.json.decode(new))


def _check_input(trigger: CompiledTrigger, task: TaskSpec, faults: Faults) -> None:
    try:
        render_trigger(trigger.spec, task, _SAMPLE_MOMENT)
    except TemplateError as error:
        faults.at("input").add(f"does not fill the templates of task {trigger.spec.task}: {error}")
