"""A project's definitions: one document, or the documents of a directory together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, TypeVar

import msgspec

from tenure_contracts import bounds
from tenure_contracts.definition import shape
from tenure_contracts.definition.declare import TaskDefinition, TriggerDefinition, WorkflowDefinition
from tenure_contracts.definition.task import compile_task
from tenure_contracts.definition.trigger import compile_trigger
from tenure_contracts.definition.workflow import compile_workflow
from tenure_contracts.fault import DefinitionErrors, Faults

D = TypeVar("D")

KINDS: Final = ("tasks", "triggers", "workflows")


class ProjectDefinitions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Everything that is declared for one project, by kind and name."""

    project: str
    tasks: dict[str, TaskDefinition] = msgspec.field(default_factory=dict)
    triggers: dict[str, TriggerDefinition] = msgspec.field(default_factory=dict)
    workflows: dict[str, WorkflowDefinition] = msgspec.field(default_factory=dict)


class _Document(msgspec.Struct, forbid_unknown_fields=True):
    """The outline, so that the fault of one definition does not hide those of another."""

    project: str
    tasks: dict[str, Any] = msgspec.field(default_factory=dict)
    triggers: dict[str, Any] = msgspec.field(default_factory=dict)
    workflows: dict[str, Any] = msgspec.field(default_factory=dict)


def read_project(value: object) -> ProjectDefinitions:
    """Read and compile one document. Raises DefinitionErrors with the faults of every definition in it.

    What a name refers to outside this document (the task of a trigger, say) is not known here.
    """
    faults = Faults()
    outline = shape.read(value, _Document, faults)
    if outline is None:
        faults.raise_if_any()
    assert outline is not None
    shape.check_name_at(outline.project, "project", faults.at("project"))
    _check_size(outline, faults)
    definitions = ProjectDefinitions(
        project=outline.project,
        tasks=_read_all(outline.tasks, TaskDefinition, compile_task, faults.at("tasks")),
        triggers=_read_all(outline.triggers, TriggerDefinition, compile_trigger, faults.at("triggers")),
        workflows=_read_all(outline.workflows, WorkflowDefinition, compile_workflow, faults.at("workflows")),
    )
    faults.raise_if_any()
    return definitions


def merge_projects(documents: Iterable[tuple[str, ProjectDefinitions]]) -> list[ProjectDefinitions]:
    """One value per project from the documents of a directory, each with the name of its source.

    Raises DefinitionErrors when two documents define the same name: which one counts would be chance.
    """
    faults = Faults()
    merged: dict[str, dict[str, dict[str, Any]]] = {}
    sources: dict[tuple[str, str, str], str] = {}
    for source, document in documents:
        kinds = merged.setdefault(document.project, {kind: {} for kind in KINDS})
        for kind in KINDS:
            for name, definition in getattr(document, kind).items():
                first = sources.setdefault((document.project, kind, name), source)
                if name in kinds[kind]:
                    faults.at(kind, name).add(f"is defined in {first} and again in {source}")
                kinds[kind][name] = definition
    faults.raise_if_any()
    return [ProjectDefinitions(project=project, **kinds) for project, kinds in sorted(merged.items())]


def _check_size(outline: _Document, faults: Faults) -> None:
    count = len(outline.tasks) + len(outline.triggers) + len(outline.workflows)
    if count > bounds.ENTITIES_PER_APPLY:
        faults.add(f"has {count} definitions, at most {bounds.ENTITIES_PER_APPLY} at once")


def _read_all(
    values: Mapping[str, Any], kind: type[D], compiler: Callable[[str, D, str], object], faults: Faults
) -> dict[str, D]:
    definitions: dict[str, D] = {}
    for name, value in values.items():
        part = faults.at(name)
        definition = shape.read(value, kind, part)
        if definition is None:
            continue
        try:
            compiler(name, definition, part.path)
        except DefinitionErrors as error:
            faults.extend(error.errors)
        definitions[name] = definition
    return definitions
