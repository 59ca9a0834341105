"""Triggers: when a task or workflow is due. The cron text is judged where cron is computed."""

from __future__ import annotations

import zoneinfo
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from tenure_contracts import bounds
from tenure_contracts.cron import Misfire, Overlap, expand_macro
from tenure_contracts.definition import shape
from tenure_contracts.definition.declare import TriggerDefinition
from tenure_contracts.digest import TRIGGER_DOMAIN
from tenure_contracts.fault import Faults
from tenure_contracts.policy import read_duration
from tenure_contracts.wire.field import Instant

TRIGGER_ROOTS: Final = frozenset({"scheduled_for"})
"""Where the templates of a trigger's input may begin."""


class TriggerSpec(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The immutable content of a trigger revision. `cron` has its macro expanded."""

    task: str | None
    workflow: str | None
    cron: str
    timezone: str
    misfire: Misfire
    grace_us: int
    overlap: Overlap
    jitter_us: int
    start: Instant | None
    end: Instant | None
    input: Any
    enabled: bool


@dataclass(frozen=True, slots=True)
class CompiledTrigger:
    """What publication stores, beside the revision that it pins."""

    name: str
    spec: TriggerSpec
    spec_json: str
    digest: bytes


def read_trigger(value: object, path: str = "$") -> TriggerDefinition:
    """The definition in a plain value. Raises DefinitionErrors."""
    return shape.read_or_raise(value, TriggerDefinition, path)


def compile_trigger(name: str, definition: TriggerDefinition, path: str = "$") -> CompiledTrigger:
    """Validate and compile. Raises DefinitionErrors with every fault that was found."""
    faults = Faults(path)
    shape.check_name_at(name, "trigger", faults)
    _check_target(definition, faults)
    _check_zone(definition.timezone, faults.at("timezone"))
    _check_window(definition, faults)
    _check_input(definition.input, faults.at("input"))
    spec = TriggerSpec(
        task=definition.task,
        workflow=definition.workflow,
        cron=_cron(definition.cron, faults.at("cron")),
        timezone=definition.timezone,
        misfire=definition.misfire,
        grace_us=read_duration(definition.grace, faults.at("grace"), 0, bounds.GRACE_US_MAX),
        overlap=definition.overlap,
        jitter_us=read_duration(definition.jitter, faults.at("jitter"), 0, bounds.JITTER_US_MAX),
        start=definition.start,
        end=definition.end,
        input=definition.input,
        enabled=definition.enabled,
    )
    faults.raise_if_any()
    text, spec_digest = shape.seal(TRIGGER_DOMAIN, spec, faults)
    faults.raise_if_any()
    return CompiledTrigger(name, spec, text, spec_digest)


def decode_trigger_spec(text: str | bytes) -> TriggerSpec:
    """Read the stored specification of a revision. Raises msgspec.DecodeError."""
    return shape.decode_spec(text, TriggerSpec)


def _check_target(definition: TriggerDefinition, faults: Faults) -> None:
    if (definition.task is None) == (definition.workflow is None):
        faults.add("needs exactly one of `task` and `workflow`")
    if definition.task is not None:
        shape.check_name_at(definition.task, "task", faults.at("task"))
    if definition.workflow is not None:
        shape.check_name_at(definition.workflow, "workflow", faults.at("workflow"))


def _cron(text: str, faults: Faults) -> str:
    if not text or len(text) > bounds.CRON_CHARACTERS or not text.isascii() or "\0" in text:
        faults.add(f"must be 1 to {bounds.CRON_CHARACTERS} ASCII characters of a cron expression", text)
        return text
    try:
        return expand_macro(text)
    except ValueError as error:
        faults.add(str(error))
        return text


def _check_zone(name: str, faults: Faults) -> None:
    try:
        zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        faults.add("is not an IANA time zone such as Europe/Berlin or UTC", name)


def _check_window(definition: TriggerDefinition, faults: Faults) -> None:
    if definition.start is not None and definition.end is not None and definition.end <= definition.start:
        faults.at("end").add("must be later than `start`", definition.end.text())


def _check_input(value: object, faults: Faults) -> None:
    if not shape.check_json(value, faults):
        return
    if len(msgspec.json.encode(value)) > bounds.INPUT_BYTES:
        faults.add(f"takes more than {bounds.INPUT_BYTES} bytes")
    shape.check_templates(value, TRIGGER_ROOTS, faults)
