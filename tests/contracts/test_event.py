"""Event types come from the tables, and nothing else is written; actors are spelled once."""

from __future__ import annotations

import re
from pathlib import Path

import tenure_control
from tenure_contracts import attempt, event, run, step

CONTROL = Path(tenure_control.__file__).parent
LITERAL = re.compile(r"""['"]((?:run|attempt|step)\.[a-z_]+)['"]""")


def test_every_state_has_its_event_type() -> None:
    for machine, states in (("run", run.STATES), ("attempt", attempt.STATES), ("step", step.STATES)):
        assert {f"{machine}.{state}" for state in states} <= event.TYPES


def test_what_is_written_is_in_the_vocabulary() -> None:
    sources = [path for path in CONTROL.rglob("*") if path.suffix in (".py", ".sql")]
    written = {name for path in sources for name in LITERAL.findall(path.read_text())}
    assert {"run.queued", "attempt.late_callback"} <= written
    assert written <= event.TYPES


def test_actors() -> None:
    assert event.recovery_actor("c-1") == "recovery:c-1"
    assert event.operator_actor("ada") == "operator:ada"
