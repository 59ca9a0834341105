"""Events of a run: their types, built from the state tables, and their actors.

Every transition writes exactly one event. Its type is `<machine>.<new state>`, so the vocabulary cannot
drift from the tables; what is worth telling without a transition has a name of its own below.
"""

from __future__ import annotations

from typing import Final

from tenure_contracts import attempt, run, step

_STATES: Final = {"run": run.STATES, "attempt": attempt.STATES, "step": step.STATES}

NOTES: Final = (
    "run.cancel_requested",
    "attempt.stop_requested",
    "attempt.attested",
    "attempt.late_callback",
)
"""Events that change no state of run, step or attempt."""

TYPES: Final = frozenset(
    {f"{machine}.{state}" for machine, states in _STATES.items() for state in states} | set(NOTES)
)

SCHEDULER: Final = "scheduler"


def recovery_actor(replica: str) -> str:
    """`recovery:<replica>`."""
    return f"recovery:{replica}"


def operator_actor(operator: str) -> str:
    """`operator:<name>`."""
    return f"operator:{operator}"
