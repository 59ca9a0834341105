"""Placement: which workers may execute a task, compiled to one canonical form, and the matching.

A distinct compiled placement is a *class* of the database, so equal placements must compile to equal
values whatever the order in which they were written. The database matches with the same rules.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, TypedDict

import msgspec

from tenure_contracts import bounds
from tenure_contracts.digest import PLACEMENT_DOMAIN, canonical_json, digest
from tenure_contracts.fault import Faults
from tenure_contracts.plan import Executor
from tenure_contracts.wire.field import Labels as _SessionLabels

Labels = Mapping[str, str]


class PlacementDefinition(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All of `require`, at least one alternative of `any` (if there are some), none of `forbid`."""

    require: dict[str, str] = msgspec.field(default_factory=dict)
    any: tuple[dict[str, str], ...] = ()
    forbid: dict[str, str] = msgspec.field(default_factory=dict)


class CompiledPlacement(TypedDict):
    executor: Executor
    handler: str | None
    require: dict[str, str]
    any: list[dict[str, str]]
    forbid: dict[str, str]


def compile_placement(
    definition: PlacementDefinition | None, executor: Executor, handler: str | None, faults: Faults
) -> CompiledPlacement:
    """The canonical form: keys sorted, alternatives sorted and once each. Faults are noted."""
    placement = definition or PlacementDefinition()
    _check(placement, faults)
    alternatives = {canonical_json(labels): dict(sorted(labels.items())) for labels in placement.any}
    return {
        "executor": executor,
        "handler": handler,
        "require": dict(sorted(placement.require.items())),
        "any": [labels for _, labels in sorted(alternatives.items())],
        "forbid": dict(sorted(placement.forbid.items())),
    }


def placement_digest(placement: CompiledPlacement) -> bytes:
    """What identifies a placement class."""
    return digest(PLACEMENT_DOMAIN, placement)


def matches(
    placement: CompiledPlacement, labels: Labels, executors: Collection[str], handlers: Collection[str]
) -> bool:
    """May a session with these properties execute it?"""
    return not explain_mismatch(placement, labels, executors, handlers)


def explain_mismatch(
    placement: CompiledPlacement, labels: Labels, executors: Collection[str], handlers: Collection[str]
) -> list[str]:
    """Every reason why a session does not match, in words; empty when it does."""
    reasons: list[str] = []
    if placement["executor"] not in executors:
        reasons.append(f"does not execute {placement['executor']} tasks")
    if placement["handler"] is not None and placement["handler"] not in handlers:
        reasons.append(f"has no handler {placement['handler']}")
    reasons += [
        f"label {key} is {_said(labels, key)}, required is {value}"
        for key, value in placement["require"].items()
        if labels.get(key) != value
    ]
    if placement["any"] and not any(_has_all(labels, wanted) for wanted in placement["any"]):
        reasons.append(f"has none of the alternatives {' or '.join(map(_written, placement['any']))}")
    reasons += [
        f"label {key} is {value}, which is forbidden"
        for key, value in placement["forbid"].items()
        if labels.get(key) == value
    ]
    return reasons


def _said(labels: Labels, key: str) -> str:
    return labels.get(key, "missing")


def _written(labels: Labels) -> str:
    return ",".join(f"{key}={value}" for key, value in labels.items())


def _has_all(labels: Labels, wanted: Labels) -> bool:
    return all(labels.get(key) == value for key, value in wanted.items())


def _check(placement: PlacementDefinition, faults: Faults) -> None:
    if len(placement.any) > bounds.PLACEMENT_TERMS:
        faults.at("any").add(f"has more than {bounds.PLACEMENT_TERMS} alternatives", len(placement.any))
    parts: list[tuple[Faults, Mapping[str, str]]] = [
        (faults.at("require"), placement.require),
        (faults.at("forbid"), placement.forbid),
        *((faults.at("any", index), labels) for index, labels in enumerate(placement.any)),
    ]
    for part, labels in parts:
        _check_labels(labels, part)
    for index, labels in enumerate(placement.any):
        if not labels:
            faults.at("any", index).add("is empty, and would match every worker")
    for key, value in placement.forbid.items():
        if placement.require.get(key) == value:
            faults.at("forbid", key).add("is required and forbidden: no worker can match", value)


def _check_labels(labels: Mapping[str, str], faults: Faults) -> None:
    if len(labels) > bounds.PLACEMENT_TERMS:
        faults.add(f"has more than {bounds.PLACEMENT_TERMS} labels", len(labels))
    for key, value in labels.items():
        if not is_label(key, value):
            faults.at(key).add(
                "is not a label: the key is up to 63 letters, digits, '.', '_', '/', '-', beginning with a "
                "letter or digit, the value up to 128 characters without control characters",
                value,
            )


def is_label(key: Any, value: Any) -> bool:
    """Do key and value follow the grammar that sessions register with?"""
    try:
        msgspec.convert({key: value}, _SessionLabels)
    except msgspec.ValidationError:
        return False
    return True
