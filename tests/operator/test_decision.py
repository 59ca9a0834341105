"""What a publication changes, decided without a database."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure_contracts.definition import (
    CompiledTask,
    CompiledTrigger,
    DefinitionErrors,
    compile_task,
    compile_trigger,
    read_task,
    read_trigger,
)
from tenure_control.decision.publication import (
    Current,
    CurrentTask,
    CurrentTrigger,
    Decision,
    Publication,
    decide_publication,
    difference,
)

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["", "a", "b"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["x", "y", "z"]), inner),
    max_leaves=12,
)


@given(JSON)
def test_nothing_differs_from_itself(value: Any) -> None:
    assert difference(value, copy.deepcopy(value)) == {}


@given(st.dictionaries(st.sampled_from("abc"), JSON), st.dictionaries(st.sampled_from("abc"), JSON))
def test_a_difference_reads_the_same_from_both_sides(old: Any, new: Any) -> None:
    there, back = difference(old, new), difference(new, old)
    assert {path: [b, a] for path, (a, b) in there.items()} == back


def test_true_is_not_one() -> None:
    assert difference({"a": True}, {"a": 1}) == {"a": [True, 1]}


def task(name: str, argument: str = "x") -> CompiledTask:
    return compile_task(name, read_task({"command": [argument]}))


def trigger(name: str, target: str, cron: str = "0 0 * * *") -> CompiledTrigger:
    return compile_trigger(name, read_trigger({"task": target, "cron": cron, "timezone": "UTC"}))


def stored(decision: Decision, before: Current) -> Current:
    """What is current after a decision was written."""
    return Current(
        "active",
        dict(before.tasks)
        | {
            each.task.name: CurrentTask(each.revision, each.task.digest, each.task.spec_json, "active")
            for each in decision.tasks
        },
        dict(before.triggers)
        | {
            each.trigger.name: CurrentTrigger(
                each.revision, each.trigger.digest, each.trigger.spec_json, "active", each.pin
            )
            for each in decision.triggers
        },
    )


PUBLICATIONS = st.lists(
    st.tuples(
        st.dictionaries(st.sampled_from("ab"), st.sampled_from("xyz"), min_size=1),
        st.dictionaries(st.sampled_from("st"), st.sampled_from(["0 0 * * *", "0 1 * * *"])),
    ),
    max_size=6,
)


@given(PUBLICATIONS)
def test_revisions_rise_by_one_and_repetition_changes_nothing(history: Any) -> None:
    current = Current("active")
    for tasks, triggers in history:
        target = min(tasks)
        wanted = Publication(
            "shop",
            tuple(task(name, argument) for name, argument in tasks.items()),
            tuple(trigger(name, target, cron) for name, cron in triggers.items()),
        )
        decision = decide_publication(wanted, current)
        for each in decision.tasks:
            before = current.tasks.get(each.task.name)
            assert each.revision - (before.revision if before else 0) == (each.change != "none")
        after = stored(decision, current)
        for pinned in decision.triggers:
            assert pinned.pin.digest == after.tasks[target].digest
            assert pinned.pin.revision == after.tasks[target].revision
        assert not decide_publication(wanted, after).changes_anything
        current = after


def test_every_unknown_task_is_told() -> None:
    wanted = Publication("shop", triggers=(trigger("a", "none"), trigger("b", "gone")))
    with pytest.raises(DefinitionErrors) as caught:
        decide_publication(wanted, Current("active"))
    assert [error.path for error in caught.value.errors] == ["$.triggers.a.task", "$.triggers.b.task"]


def test_a_trigger_of_a_known_task_needs_no_definition_of_it() -> None:
    known = task("report")
    current = Current("active", {"report": CurrentTask(7, known.digest, known.spec_json, "active")})
    decision = decide_publication(Publication("shop", triggers=(trigger("a", "report"),)), current)
    assert decision.triggers[0].pin.revision == 7
