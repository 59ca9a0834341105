"""Definitions as they come in: validated whole, and refused with every fault, before anything is written."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

import msgspec

from tenure_contracts.definition import (
    CompiledTrigger,
    ProjectDefinitions,
    TriggerDefinition,
    compile_task,
    compile_trigger,
    read_project,
    read_task,
    read_trigger,
)
from tenure_contracts.error import Refusal
from tenure_contracts.fault import DefinitionError, DefinitionErrors
from tenure_control.decision.available import Missing, missing_for_task, missing_for_trigger
from tenure_control.decision.cron import check_expression
from tenure_control.decision.publication import Publication

ERRORS_SHOWN = 100


def read_task_body(project: str, name: str, body: bytes) -> Publication:
    """One task as a publication. Raises Refusal `invalid_definition`, `not_available` or `invalid_json`."""
    value = _value(body)
    try:
        definition = read_task(value)
        task = compile_task(name, definition)
    except DefinitionErrors as faults:
        raise invalid(faults) from faults
    _refuse_missing(missing_for_task(definition, "$"))
    return Publication(project, tasks=(task,), single=True)


def read_trigger_body(project: str, name: str, body: bytes) -> Publication:
    """One trigger as a publication. Raises Refusal as `read_task_body` does."""
    value = _value(body)
    try:
        definition = read_trigger(value)
        trigger = _compile_trigger(name, definition, "$")
    except DefinitionErrors as faults:
        raise invalid(faults) from faults
    _refuse_missing(missing_for_trigger(definition, "$"))
    return Publication(project, triggers=(trigger,), single=True)


def read_definitions(project: str, definitions: dict[str, Any]) -> Publication:
    """The definitions of one `apply`. Raises Refusal as `read_task_body` does."""
    try:
        document = read_project({**definitions, "project": project})
        return _compile_project(document)
    except DefinitionErrors as faults:
        raise invalid(faults) from faults


def invalid(faults: DefinitionErrors) -> Refusal:
    """The refusal that carries every fault with its path, for people and for programs."""
    return Refusal("invalid_definition", _first(faults.errors), errors=_members(faults.errors))


def refuse_duplicate_keys(body: bytes) -> None:
    """JSON lets a name stand twice and takes the last; in definitions that hides the first one.

    Raises Refusal `invalid_definition`. A body that is not JSON is left to its reader.
    """

    def refuse(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) != len(pairs):
            names = [name for name, _ in pairs]
            twice = next(name for name in names if names.count(name) > 1)
            raise DefinitionErrors([DefinitionError("$", f"`{twice}` stands twice in one object")])
        return found

    try:
        json.loads(body, object_pairs_hook=refuse)
    except DefinitionErrors as faults:
        raise invalid(faults) from faults
    except (ValueError, RecursionError):
        return


def _value(body: bytes) -> Any:
    try:
        value = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise Refusal("invalid_json", "The body is empty." if not body else str(error)) from error
    refuse_duplicate_keys(body)
    return value


def _compile_project(document: ProjectDefinitions) -> Publication:
    tasks = [compile_task(name, task, f"$.tasks.{name}") for name, task in document.tasks.items()]
    errors: list[DefinitionError] = []
    triggers: list[CompiledTrigger] = []
    for name, trigger in document.triggers.items():
        try:
            triggers.append(_compile_trigger(name, trigger, f"$.triggers.{name}"))
        except DefinitionErrors as faults:
            errors += faults.errors
    if errors:
        raise DefinitionErrors(errors)
    _refuse_missing(_missing(document))
    return Publication(document.project, tuple(tasks), tuple(triggers))


def _compile_trigger(name: str, definition: TriggerDefinition, path: str) -> CompiledTrigger:
    trigger = compile_trigger(name, definition, path)
    try:
        check_expression(trigger.spec.cron, trigger.spec.timezone)
    except ValueError as error:
        raise DefinitionErrors([DefinitionError(f"{path}.cron", str(error), definition.cron)]) from error
    return trigger


def _missing(document: ProjectDefinitions) -> Iterator[Missing]:
    yield from chain.from_iterable(
        missing_for_task(task, f"$.tasks.{name}") for name, task in document.tasks.items()
    )
    yield from chain.from_iterable(
        missing_for_trigger(trigger, f"$.triggers.{name}") for name, trigger in document.triggers.items()
    )
    for name in document.workflows:
        yield f"$.workflows.{name}", "workflows are not available yet"


def _refuse_missing(missing: Iterable[Missing]) -> None:
    errors = [DefinitionError(path, reason) for path, reason in missing]
    if errors:
        raise Refusal("not_available", _first(errors), errors=_members(errors))


def _first(errors: Iterable[DefinitionError]) -> str:
    first, *more = [str(error) for error in errors]
    return f"{first} (and {len(more)} more)" if more else first


def _members(errors: Iterable[DefinitionError]) -> list[dict[str, object]]:
    return [error.member() for error in list(errors)[:ERRORS_SHOWN]]
