"""From a task revision and an input to what a run executes. Nothing is rendered after admission."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import msgspec

from tenure_contracts import bounds
from tenure_contracts.definition import TaskSpec, TriggerSpec
from tenure_contracts.digest import PLAN_DOMAIN, digest_of_text
from tenure_contracts.plan import encode_plan
from tenure_contracts.template import TemplateError, render_plan, render_value, scheduled_fields

Scheduled = Mapping[str, str | int]
"""What templates find below `scheduled_for`; see `contracts.template.scheduled_fields`."""


@dataclass(frozen=True, slots=True)
class RenderedPlan:
    """The plan of one run as it is stored, and the digest that every claim verifies."""

    text: str
    digest: bytes


def render_run(spec: TaskSpec, input_: Any, scheduled_for: Scheduled | None = None) -> RenderedPlan:
    """The plan of a run of this revision. Raises TemplateError that names the part and the missing path.

    `scheduled_for` is None for a run that no trigger asked for: a task that uses it is then refused.
    """
    context: dict[str, Any] = {"input": input_}
    if scheduled_for is not None:
        context["scheduled_for"] = scheduled_for
    text = encode_plan(render_plan(spec.plan, context))
    return RenderedPlan(text, digest_of_text(PLAN_DOMAIN, text))


def render_trigger(trigger: TriggerSpec, task: TaskSpec, occurrence: datetime) -> tuple[str, RenderedPlan]:
    """Input (JSON text) and plan of the run of one occurrence of a trigger. Raises TemplateError."""
    scheduled = scheduled_fields(occurrence, trigger.timezone)
    input_ = render_value(trigger.input, {"scheduled_for": scheduled})
    text = msgspec.json.encode(input_)
    if len(text) > bounds.INPUT_BYTES:
        raise TemplateError(f"input: renders to more than {bounds.INPUT_BYTES} bytes")
    return text.decode(), render_run(task, input_, scheduled)
