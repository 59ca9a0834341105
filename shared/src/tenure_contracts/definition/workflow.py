"""Workflows: named steps, each of one task, in an acyclic graph."""

from __future__ import annotations

import graphlib
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from tenure_contracts import bounds
from tenure_contracts.definition import shape
from tenure_contracts.definition.declare import OnFailure, RunIf, StepDefinition, WorkflowDefinition
from tenure_contracts.digest import WORKFLOW_DOMAIN
from tenure_contracts.fault import Faults
from tenure_contracts.template import TemplateError, paths

STEP_ROOTS: Final = frozenset({"input", "scheduled_for", "steps"})
"""Where the templates of a step's input may begin."""


class StepSpec(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One step, its needs sorted."""

    task: str
    needs: tuple[str, ...]
    run_if: RunIf
    on_failure: OnFailure
    input: Any


class WorkflowSpec(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The immutable content of a workflow revision, beside the task revisions that it pins."""

    steps: dict[str, StepSpec]


@dataclass(frozen=True, slots=True)
class CompiledWorkflow:
    """What publication stores. `order` lists every step after its needs."""

    name: str
    spec: WorkflowSpec
    spec_json: str
    digest: bytes
    order: tuple[str, ...]


def read_workflow(value: object, path: str = "$") -> WorkflowDefinition:
    """The definition in a plain value. Raises DefinitionErrors."""
    return shape.read_or_raise(value, WorkflowDefinition, path)


def compile_workflow(name: str, definition: WorkflowDefinition, path: str = "$") -> CompiledWorkflow:
    """Validate and compile. Raises DefinitionErrors with every fault that was found."""
    faults = Faults(path)
    shape.check_name_at(name, "workflow", faults)
    steps = faults.at("steps")
    if not 1 <= len(definition.steps) <= bounds.STEPS:
        steps.add(f"must be 1 to {bounds.STEPS} steps", len(definition.steps))
    for step_name, step in definition.steps.items():
        _check_step(step_name, step, definition, steps.at(step_name))
    order = _order(definition, steps)
    faults.raise_if_any()
    spec = WorkflowSpec(steps={step: _step(definition.steps[step]) for step in sorted(definition.steps)})
    text, spec_digest = shape.seal(WORKFLOW_DOMAIN, spec, faults)
    faults.raise_if_any()
    return CompiledWorkflow(name, spec, text, spec_digest, order)


def decode_workflow_spec(text: str | bytes) -> WorkflowSpec:
    """Read the stored specification of a revision. Raises msgspec.DecodeError."""
    return shape.decode_spec(text, WorkflowSpec)


def _step(step: StepDefinition) -> StepSpec:
    return StepSpec(
        task=step.task,
        needs=tuple(sorted(step.needs)),
        run_if=step.run_if,
        on_failure=step.on_failure,
        input=step.input,
    )


def _check_step(name: str, step: StepDefinition, workflow: WorkflowDefinition, faults: Faults) -> None:
    shape.check_name_at(name, "step", faults)
    shape.check_name_at(step.task, "task", faults.at("task"))
    if len(set(step.needs)) != len(step.needs):
        faults.at("needs").add("names a step twice", list(step.needs))
    for need in step.needs:
        if need not in workflow.steps:
            faults.at("needs").add(f"{need!r} is not a step of this workflow", list(step.needs))
    if shape.check_json(step.input, faults.at("input")):
        shape.check_templates(step.input, STEP_ROOTS, faults.at("input"))
        _check_references(step, faults.at("input"))


def _check_references(step: StepDefinition, faults: Faults) -> None:
    try:
        references = [path for path in paths(step.input) if path.root == "steps"]
    except TemplateError:
        return  # noted already
    for path in references:
        if len(path.keys) < 3 or path.keys[1] not in step.needs or path.keys[2] != "output":
            faults.add(f"`{path.text}`: write steps.<one of needs>.output", list(step.needs))


def _order(workflow: WorkflowDefinition, faults: Faults) -> tuple[str, ...]:
    graph = {name: sorted(set(step.needs)) for name, step in sorted(workflow.steps.items())}
    try:
        return tuple(graphlib.TopologicalSorter(graph).static_order())
    except graphlib.CycleError as error:
        faults.add(f"has a cycle: {' needs '.join(reversed(error.args[1]))}")
        return ()
