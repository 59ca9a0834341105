"""Placement: one canonical form, and matching with its explanation."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure_contracts.fault import DefinitionErrors, Faults
from tenure_contracts.placement import (
    CompiledPlacement,
    PlacementDefinition,
    compile_placement,
    explain_mismatch,
    matches,
    placement_digest,
)

labels = st.dictionaries(st.sampled_from("abc"), st.sampled_from("xyz"), max_size=3)
some_labels = st.dictionaries(st.sampled_from("abc"), st.sampled_from("xyz"), min_size=1, max_size=3)


def compiled(executor: Any = "command", handler: str | None = None, **parts: Any) -> CompiledPlacement:
    faults = Faults()
    placement = compile_placement(PlacementDefinition(**parts), executor, handler, faults)
    faults.raise_if_any()
    return placement


def test_equal_placements_compile_to_equal_values() -> None:
    first = compiled(require={"b": "1", "a": "2"}, any=({"os": "linux"}, {"os": "darwin"}, {"os": "linux"}))
    second = compiled(require={"a": "2", "b": "1"}, any=({"os": "darwin"}, {"os": "linux"}))
    assert first == second
    assert placement_digest(first) == placement_digest(second)
    assert placement_digest(first) != placement_digest(compiled(require={"a": "2", "b": "1"}))
    assert compile_placement(None, "command", None, Faults()) == {
        "executor": "command",
        "handler": None,
        "require": {},
        "any": [],
        "forbid": {},
    }


@given(labels, st.lists(some_labels, max_size=3), labels, labels)
def test_matching_is_what_the_words_say(
    require: dict[str, str], any_of: list[dict[str, str]], forbid: dict[str, str], own: dict[str, str]
) -> None:
    placement: CompiledPlacement = {
        "executor": "command",
        "handler": None,
        "require": require,
        "any": any_of,
        "forbid": forbid,
    }
    wanted = (
        require.items() <= own.items()
        and (not any_of or any(one.items() <= own.items() for one in any_of))
        and not forbid.items() & own.items()
    )
    assert matches(placement, own, ["command"], []) is wanted
    assert bool(explain_mismatch(placement, own, ["command"], [])) is not wanted


def test_executor_and_handler() -> None:
    handler = compiled("handler", "resize")
    assert matches(handler, {}, ["command", "handler"], ["resize"])
    assert explain_mismatch(handler, {}, ["command"], ["other"]) == [
        "does not execute handler tasks",
        "has no handler resize",
    ]


def test_the_explanation_names_each_label() -> None:
    placement = compiled(
        require={"region": "eu", "gpu": "yes"},
        any=({"os": "linux"}, {"os": "darwin"}),
        forbid={"spot": "true"},
    )
    assert explain_mismatch(placement, {"region": "us", "spot": "true"}, ["command"], []) == [
        "label gpu is missing, required is yes",
        "label region is us, required is eu",
        "has none of the alternatives os=darwin or os=linux",
        "label spot is true, which is forbidden",
    ]
    assert matches(placement, {"region": "eu", "gpu": "yes", "os": "linux", "spot": "no"}, ["command"], [])


@pytest.mark.parametrize(
    ("parts", "path"),
    [
        ({"require": {"a b": "x"}}, "$.require.a b"),
        ({"require": {"a\n": "x"}}, "$.require.a\n"),
        ({"require": {"a": "x\0"}}, "$.require.a"),
        ({"forbid": {"": "x"}}, "$.forbid."),
        ({"any": ({},)}, "$.any[0]"),
        ({"any": ({"a": "x" * 129},)}, "$.any[0].a"),
        ({"any": tuple({"a": str(n)} for n in range(33))}, "$.any"),
        ({"require": {f"k{n}": "x" for n in range(33)}}, "$.require"),
        ({"require": {"a": "x"}, "forbid": {"a": "x"}}, "$.forbid.a"),
    ],
)
def test_faults(parts: dict[str, Any], path: str) -> None:
    with pytest.raises(DefinitionErrors) as caught:
        compiled(**parts)
    assert [error.path for error in caught.value.errors] == [path]
