"""Event types come from the tables; actors are spelled once."""

from __future__ import annotations

import pytest

from tenure_contracts import attempt, event, run, step


def test_every_state_has_its_event_type() -> None:
    for machine, states in (("run", run.STATES), ("attempt", attempt.STATES), ("step", step.STATES)):
        for state in states:
            assert event.transition_type(machine, state) in event.TYPES  # type: ignore[arg-type]


def test_a_state_of_another_machine_has_none() -> None:
    with pytest.raises(KeyError):
        event.transition_type("run", "claimed")


def test_actors() -> None:
    assert event.worker_actor("w1") == "worker:w1"
    assert event.recovery_actor("c-1") == "recovery:c-1"
    assert event.operator_actor("ada") == "operator:ada"
