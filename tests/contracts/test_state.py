"""The state machines: every pair of states, against the tables as the domain description gives them."""

from __future__ import annotations

import itertools
from types import ModuleType

import pytest

from tenure_contracts import attempt, cursor, lease, recovery, run, session, step
from tenure_contracts.machine import StateError, Table

ENDS = "succeeded failed cancelled timed_out"

EXPECTED = {
    "run": {
        None: "queued",
        "queued": "dispatching cancelled failed",
        "dispatching": f"queued running retry_wait lost {ENDS}",
        "running": f"retry_wait lost {ENDS}",
        "lost": "retry_wait failed cancelled",
        "retry_wait": "queued cancelled failed",
    },
    "workflow run": {None: "running", "running": ENDS},
    "attempt": {
        None: "claimed",
        "claimed": "starting cancelled failed",
        "starting": f"running lost {ENDS}",
        "running": f"lost {ENDS}",
    },
    "step": {
        None: "pending",
        "pending": "ready skipped cancelled failed",
        "ready": "running cancelled failed",
        "running": f"lost retry_wait {ENDS}",
        "lost": "retry_wait ready failed cancelled",
        "retry_wait": "ready cancelled failed",
    },
    "lease": {None: "leased", "leased": "leased released completed", "released": "leased"},
    "session": {
        None: "online",
        "online": "draining offline replaced",
        "draining": "offline replaced",
        "offline": "replaced",
    },
    "cursor": {None: "idle", "idle": "claimed", "claimed": "idle claimed"},
    "recovery": {
        None: "available",
        "available": "claimed",
        "claimed": "claimed resolved retry manual",
        "resolved": "claimed",
        "retry": "claimed",
        "manual": "available",
    },
}

MACHINES: list[tuple[str, ModuleType, Table]] = [
    ("run", run, run.TRANSITIONS["task"]),
    ("workflow run", run, run.TRANSITIONS["workflow"]),
    ("attempt", attempt, attempt.TRANSITIONS),
    ("step", step, step.TRANSITIONS),
    ("lease", lease, lease.TRANSITIONS),
    ("session", session, session.TRANSITIONS),
    ("cursor", cursor, cursor.TRANSITIONS),
    ("recovery", recovery, recovery.TRANSITIONS),
]

every_machine = pytest.mark.parametrize(("name", "module", "table"), MACHINES, ids=[m[0] for m in MACHINES])


@every_machine
def test_the_table_is_the_description(name: str, module: ModuleType, table: Table) -> None:
    expected = {(before, after) for before, row in EXPECTED[name].items() for after in row.split()}
    assert table == expected


@every_machine
def test_every_pair_is_allowed_or_refused_as_the_table_says(
    name: str, module: ModuleType, table: Table
) -> None:
    states: tuple[str, ...] = module.STATES
    for before, after in itertools.product((None, *states), states):
        if (before, after) in table:
            _check(name, module, before, after)
        else:
            with pytest.raises(StateError) as caught:
                _check(name, module, before, after)
            assert (caught.value.before, caught.value.after) == (before, after)
            assert caught.value.machine in str(caught.value)


@every_machine
def test_terminal_states_are_those_without_a_way_out(name: str, module: ModuleType, table: Table) -> None:
    reachable = {after for _, after in table}
    assert reachable <= set(module.STATES)
    assert {state for state in reachable if state not in {before for before, _ in table}} == (
        module.TERMINAL & reachable
    )


@every_machine
def test_every_state_but_a_foreign_one_is_reached(name: str, module: ModuleType, table: Table) -> None:
    reached: set[str | None] = {None}
    while grown := {after for before, after in table if before in reached} - reached:
        reached |= grown
    wanted = {"running", *ENDS.split()} if name == "workflow run" else set(module.STATES)
    assert reached - {None} == wanted


def test_an_unknown_state_is_an_error_and_not_a_default() -> None:
    with pytest.raises(StateError, match="attempt: claimed -> nonsense"):
        attempt.check_transition("claimed", "nonsense")
    with pytest.raises(KeyError):
        run.check_transition("batch", "queued", "dispatching")  # type: ignore[arg-type]


def test_claimed_work_can_never_be_lost() -> None:
    assert ("claimed", "lost") not in attempt.TRANSITIONS
    assert ("queued", "lost") not in run.TRANSITIONS["task"]


def _check(name: str, module: ModuleType, before: str | None, after: str) -> None:
    if module is run:
        run.check_transition("workflow" if name == "workflow run" else "task", before, after)
    else:
        module.check_transition(before, after)
