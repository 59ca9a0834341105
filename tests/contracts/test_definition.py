"""Definitions: the described example compiles, and every fault is told with its path, together."""

from __future__ import annotations

import copy
import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure_contracts import bounds
from tenure_contracts.definition import (
    DefinitionErrors,
    compile_task,
    compile_trigger,
    compile_workflow,
    decode_task_spec,
    decode_trigger_spec,
    decode_workflow_spec,
    merge_projects,
    read_project,
    read_task,
    read_trigger,
    read_workflow,
)
from tenure_contracts.digest import TASK_DOMAIN, canonical_json, digest_of_text
from tenure_contracts.policy import RetryPolicy

MINUTE = 60_000_000

TASK: dict[str, Any] = {
    "command": ["python3", "-m", "report", "--day", "{{ input.day }}"],
    "timeout": "15m",
    "placement": {
        "require": {"region": "eu"},
        "any": [{"os": "linux"}, {"os": "darwin"}],
        "forbid": {"spot": "true"},
    },
    "retry": {
        "max_attempts": 3,
        "on": ["failed", "lost"],
        "safety": "idempotent",
        "backoff": {"base": "2s", "factor": 2, "cap": "5m"},
    },
    "concurrency": {"key": "report-{{ input.day }}", "limit": 1},
    "priority": 5,
    "kill_grace": "10s",
    "exit_codes": {75: "retry", 64: "fail"},
    "outcome_unknown_after": "6h",
}
TRIGGER: dict[str, Any] = {
    "task": "report",
    "cron": "30 2 * * *",
    "timezone": "Europe/Berlin",
    "misfire": "fire_once",
    "grace": "5m",
    "overlap": "skip",
    "jitter": "30s",
    "start": None,
    "end": None,
    "input": {"day": "{{ scheduled_for.date }}"},
}
WORKFLOW: dict[str, Any] = {
    "steps": {
        "extract": {"task": "extract"},
        "load": {"task": "load", "needs": ["extract"], "input": {"rows": "{{ steps.extract.output.rows }}"}},
        "notify": {"task": "notify", "needs": ["load"], "run_if": "all_done", "on_failure": "continue"},
    }
}
PROJECT: dict[str, Any] = {
    "project": "shop",
    "tasks": {"report": TASK},
    "triggers": {"nightly": TRIGGER},
    "workflows": {"close-day": WORKFLOW},
}


def task_faults(**changes: Any) -> dict[str, str]:
    value = {key: item for key, item in {**TASK, **changes}.items() if item is not ...}
    with pytest.raises(DefinitionErrors) as caught:
        compile_task("t", read_task(value))
    return {error.path: str(error) for error in caught.value.errors}


def test_the_described_project_is_read_and_compiled() -> None:
    project = read_project(PROJECT)
    task = compile_task("report", project.tasks["report"])
    assert task.plan.argv == tuple(TASK["command"])
    assert (task.timeout_us, task.plan.kill_grace_us, task.priority) == (15 * MINUTE, MINUTE // 6, 5)
    assert task.retry == RetryPolicy(
        max_attempts=3,
        on_failed=True,
        on_lost=True,
        safety="idempotent",
        delays_us=(2_000_000, 4_000_000),
        exit_codes={"75": "retry", "64": "fail"},
        outcome_unknown_after_us=360 * MINUTE,
    )
    trigger = compile_trigger("nightly", project.triggers["nightly"])
    assert (trigger.spec.grace_us, trigger.spec.jitter_us) == (5 * MINUTE, MINUTE // 2)
    workflow = compile_workflow("close-day", project.workflows["close-day"])
    assert workflow.order == ("extract", "load", "notify")


def test_what_is_stored_is_canonical_and_covered_by_its_digest() -> None:
    task = compile_task("report", read_task(TASK))
    assert canonical_json(json.loads(task.spec_json)).decode() == task.spec_json
    assert digest_of_text(TASK_DOMAIN, task.spec_json) == task.digest
    assert decode_task_spec(task.spec_json) == task.spec
    trigger = compile_trigger("t", read_trigger({**TRIGGER, "start": "2026-12-01T00:00:00+01:00"}))
    assert decode_trigger_spec(trigger.spec_json) == trigger.spec
    workflow = compile_workflow("w", read_workflow(WORKFLOW))
    assert decode_workflow_spec(workflow.spec_json) == workflow.spec


def test_equal_definitions_have_equal_digests_and_others_have_not() -> None:
    first = compile_task("a", read_task(TASK)).digest
    turned = dict(reversed(copy.deepcopy(TASK).items()))
    turned["placement"]["any"].reverse()
    turned["timeout"] = "900s"
    assert compile_task("a", read_task(turned)).digest == first
    assert compile_task("a", read_task({**TASK, "timeout": "14m"})).digest != first


def test_json_and_yaml_keys_read_the_same() -> None:
    assert read_task(json.loads(json.dumps(TASK))) == read_task(TASK)


def test_a_handler() -> None:
    task = compile_task(
        "h", read_task({"handler": "img.resize", "arguments": {"w": 3, "f": "{{ input.f }}"}})
    )
    assert (task.plan.executor, task.plan.handler, task.plan.argv) == ("handler", "img.resize", None)
    assert task.placement["handler"] == "img.resize"


def test_the_smallest_task_has_the_documented_defaults() -> None:
    task = compile_task("t", read_task({"command": ["true"]}))
    assert (task.timeout_us, task.plan.kill_grace_us, task.priority) == (None, 10_000_000, 5)
    assert task.retry == RetryPolicy()
    assert task.plan.log_limit_bytes == bounds.LOG_LIMIT_BYTES


@pytest.mark.parametrize(
    ("changes", "path", "said"),
    [
        ({"command": ...}, "$", "exactly one of `command` and `handler`"),
        ({"handler": "h"}, "$", "exactly one of `command` and `handler`"),
        ({"command": []}, "$.command", "at least the program"),
        ({"command": [""]}, "$.command", "at least the program"),
        ({"command": "ls -l"}, "$.command", "read 'ls -l'"),
        ({"command": ["a\0"]}, "$.command[0]", "NUL"),
        ({"command": ["a", 3]}, "$.command[1]", "write it in quotes"),
        ({"command": ["a"] * 257}, "$.command", "256 words"),
        ({"command": ["a", "{{ inptu.day }}"]}, "$.command[1]", "must begin with input"),
        ({"command": ["a", "{{ steps.a.output }}"]}, "$.command[1]", "only input, scheduled_for"),
        ({"arguments": {"a": 1}}, "$.arguments", "belongs to a handler"),
        ({"env": {"A B": "x"}}, "$.env.A B", "environment variable"),
        ({"env": {"A": "{{ x"}}, "$.env.A", "not closed"),
        ({"stdin": "x" * 65_537}, "$.stdin", "65537 characters"),
        ({"secrets": ["a", "a"]}, "$.secrets", "twice"),
        ({"secrets": ["../a"]}, "$.secrets[0]", "regex"),
        ({"timeout": 90}, "$.timeout", "read 90"),
        ({"timeout": "90"}, "$.timeout", "'90' is not a duration"),
        ({"timeout": "0s"}, "$.timeout", "from 1ms to 30d"),
        ({"timeout": "31d"}, "$.timeout", "from 1ms to 30d"),
        ({"kill_grace": "2h"}, "$.kill_grace", "from 0s to 1h"),
        ({"timout": "1m"}, "$", "unknown key `timout`: did you mean `timeout`?"),
        ({"retry": {"max_tries": 3}}, "$.retry", "unknown key `max_tries`: did you mean `max_attempts`?"),
        ({"retry": {"zzz": 3}}, "$.retry", "known here are max_attempts, on, safety, backoff"),
        ({"retry": {"max_attempts": 17}}, "$.retry.max_attempts", "1 to 16"),
        ({"retry": {"on": ["lost"]}}, "$.retry.on", "declared safety"),
        ({"retry": {"on": ["never"]}}, "$.retry.on[0]", "never"),
        ({"retry": {"backoff": {"base": "1 s"}}}, "$.retry.backoff.base", "'1 s' is not a duration"),
        ({"retry": {True: ["lost"]}}, "$", "unquoted yes, no, on, off"),
        ({"concurrency": {"key": "", "limit": 1}}, "$.concurrency.key", "1 to 255 characters"),
        ({"concurrency": {"key": "k", "limit": 0}}, "$.concurrency.limit", "1 to 10000"),
        ({"priority": 10}, "$.priority", "0 to 9"),
        ({"priority": -1}, "$.priority", "0 to 9"),
        ({"exit_codes": {0: "retry"}}, "$.exit_codes.0", "but 0"),
        ({"exit_codes": {"x": "retry"}}, "$.exit_codes.x", "not an exit code"),
        ({"exit_codes": {1: "maybe"}}, "$.exit_codes[...]", "maybe"),
        ({"log_limit": "4MB"}, "$.log_limit", "not a size"),
        ({"log_limit": -1}, "$.log_limit", "bytes"),
        (
            {"retry": ..., "presume_lost_after": "10m", "outcome_unknown_after": ...},
            "$.presume_lost_after",
            "safety",
        ),
        ({"presume_lost_after": "59s", "outcome_unknown_after": ...}, "$.presume_lost_after", "from 1m"),
        ({"presume_lost_after": "10m"}, "$.outcome_unknown_after", "excludes presume_lost_after"),
        ({"placement": {"require": {"a": True}}}, "$.placement.require[...]", "got `bool`"),
        ({"placement": {"any": [{}]}}, "$.placement.any[0]", "is empty"),
    ],
)
def test_faults_of_a_task(changes: dict[str, Any], path: str, said: str) -> None:
    found = task_faults(**changes)
    assert path in found, found
    assert said in found[path]


def test_handlers_take_no_command_parts_and_no_floats() -> None:
    with pytest.raises(DefinitionErrors) as caught:
        compile_task("h", read_task({"handler": "h", "arguments": {"a": [1.5]}, "env": {"A": "1"}}))
    assert [error.path for error in caught.value.errors] == ["$.env", "$.arguments.a[0]"]


def test_a_definition_has_a_size() -> None:
    words = ["x" * 32_768] * 9
    assert "bytes in canonical form" in task_faults(command=words)["$"]


@pytest.mark.parametrize(
    ("changes", "path", "said"),
    [
        ({"task": None}, "$", "exactly one"),
        ({"workflow": "w"}, "$", "exactly one"),
        ({"task": "No"}, "$.task", "not a name"),
        ({"cron": "@never"}, "$.cron", "macros"),
        ({"cron": ""}, "$.cron", "1 to 256"),
        ({"cron": "é * * * *"}, "$.cron", "ASCII"),
        ({"timezone": "Mars/Phobos"}, "$.timezone", "'Mars/Phobos'"),
        ({"timezone": "../etc/passwd"}, "$.timezone", "IANA"),
        ({"timezone": ""}, "$.timezone", "IANA"),
        ({"timezone": "Europe/Berlin\0"}, "$.timezone", "IANA"),
        ({"misfire": "panic"}, "$.misfire", "panic"),
        ({"grace": "6m"}, "$.grace", "from 0s to 5m"),
        ({"jitter": "6m"}, "$.jitter", "from 0s to 5m"),
        ({"overlap": "maybe"}, "$.overlap", "maybe"),
        ({"start": "2026-12-01"}, "$.start", "not a time"),
        ({"start": datetime(2026, 12, 1)}, "$.start", "offset"),  # noqa: DTZ001
        ({"start": "2026-12-02T00:00:00Z", "end": "2026-12-01T00:00:00Z"}, "$.end", "later than `start`"),
        ({"input": {"day": "{{ input.day }}"}}, "$.input", "only scheduled_for"),
        ({"input": {"a": 0.5}}, "$.input.a", "float"),
        ({"input": "x" * 65_535}, "$.input", "65536 bytes"),
    ],
)
def test_faults_of_a_trigger(changes: dict[str, Any], path: str, said: str) -> None:
    with pytest.raises(DefinitionErrors) as caught:
        compile_trigger("t", read_trigger({**TRIGGER, **changes}))
    found = {error.path: str(error) for error in caught.value.errors}
    assert path in found, found
    assert said in found[path]


def test_a_trigger_must_say_its_zone() -> None:
    without = {key: value for key, value in TRIGGER.items() if key != "timezone"}
    with pytest.raises(DefinitionErrors, match="timezone"):
        read_trigger(without)


def test_yaml_times_and_macros_are_read() -> None:
    moment = datetime(2026, 12, 1, tzinfo=UTC)
    trigger = compile_trigger("t", read_trigger({**TRIGGER, "cron": "@daily", "start": moment}))
    assert (trigger.spec.cron, trigger.spec.start) == ("0 0 * * *", moment)


def steps(**needs: list[str]) -> dict[str, Any]:
    return {"steps": {name: {"task": "t", "needs": need} for name, need in needs.items()}}


@pytest.mark.parametrize(
    ("value", "path", "said"),
    [
        ({"steps": {}}, "$.steps", "1 to 128"),
        (steps(**{f"s{n}": [] for n in range(129)}), "$.steps", "1 to 128"),
        (steps(a=["b"], b=["a"]), "$.steps", "a needs b needs a"),
        (steps(a=["a"]), "$.steps", "a needs a"),
        (steps(a=["zz"]), "$.steps.a.needs", "'zz' is not a step"),
        (steps(a=[], b=["a", "a"]), "$.steps.b.needs", "twice"),
        (steps(A=[]), "$.steps.A", "not a name"),
        ({"steps": {"a": {"task": "T"}}}, "$.steps.a.task", "not a name"),
        ({"steps": {"a": {"task": "t", "run_if": "x"}}}, "$.steps[...].run_if", "x"),
        (
            {"steps": {"a": {"task": "t"}, "b": {"task": "t", "input": "{{ steps.a.output }}"}}},
            "$.steps.b.input",
            "one of needs",
        ),
        (
            {"steps": {"a": {"task": "t"}, "b": {"task": "t", "needs": ["a"], "input": "{{ steps.a.log }}"}}},
            "$.steps.b.input",
            "output",
        ),
    ],
)
def test_faults_of_a_workflow(value: dict[str, Any], path: str, said: str) -> None:
    with pytest.raises(DefinitionErrors) as caught:
        compile_workflow("w", read_workflow(value))
    found = {error.path: str(error) for error in caught.value.errors}
    assert path in found, found
    assert said in found[path]


@given(st.integers(1, 20), st.randoms())
def test_any_acyclic_graph_is_ordered(size: int, random: Any) -> None:
    names = [f"s{number}" for number in range(size)]
    needs = {name: random.sample(names[:at], random.randint(0, at)) for at, name in enumerate(names)}
    shuffled = list(needs.items())
    random.shuffle(shuffled)
    workflow = compile_workflow("w", read_workflow(steps(**dict(shuffled))))
    place = {name: at for at, name in enumerate(workflow.order)}
    assert all(place[need] < place[name] for name, wanted in needs.items() for need in wanted)


# -- whole projects ------------------------------------------------------------------------------------


def test_all_faults_of_a_document_are_told_together() -> None:
    document = {
        "project": "Shop",
        "tasks": {"a": {"command": ["x"], "timeout": 3}, "B": {"command": []}},
        "triggers": {"t": {**TRIGGER, "jitter": "1h", "timezone": "X"}},
        "workflows": {"w": steps(a=["a"])},
    }
    with pytest.raises(DefinitionErrors) as caught:
        read_project(document)
    assert [error.path for error in caught.value.errors] == [
        "$.project",
        "$.tasks.a.timeout",
        "$.tasks.B",
        "$.tasks.B.command",
        "$.triggers.t.timezone",
        "$.triggers.t.jitter",
        "$.workflows.w.steps",
    ]
    assert caught.value.errors[1].member() == {
        "path": "$.tasks.a.timeout",
        "reason": caught.value.errors[1].reason,
        "read": "3",
    }


@pytest.mark.parametrize(
    "document",
    [None, [], "text", {}, {"project": 3}, {"project": "p", "taskz": {}}, {"project": "p", "tasks": []}],
)
def test_what_is_not_a_project(document: object) -> None:
    with pytest.raises(DefinitionErrors):
        read_project(document)


def test_too_many_and_too_deep() -> None:
    many = {"project": "p", "tasks": {f"t{n}": {"command": ["x"]} for n in range(1001)}}
    with pytest.raises(DefinitionErrors, match="at most 1000"):
        read_project(many)
    deep: Any = 1
    for _ in range(900):
        deep = [deep]
    with pytest.raises(DefinitionErrors, match="nested deeper"):
        read_project({"project": "p", "tasks": {"t": {"handler": "h", "arguments": deep}}})


def test_documents_of_a_directory_are_merged_and_duplicates_refused() -> None:
    first = read_project({"project": "shop", "tasks": {"a": {"command": ["x"]}}})
    second = read_project({"project": "shop", "tasks": {"b": {"command": ["x"]}}, "triggers": {"a": TRIGGER}})
    other = read_project({"project": "bank", "tasks": {"a": {"command": ["x"]}}})
    merged = merge_projects([("1.yaml", first), ("2.yaml", second), ("3.yaml", other)])
    assert [(project.project, sorted(project.tasks)) for project in merged] == [
        ("bank", ["a"]),
        ("shop", ["a", "b"]),
    ]
    with pytest.raises(DefinitionErrors, match=r"\$\.tasks\.a: is defined in 1.yaml and again in 4.yaml"):
        merge_projects([("1.yaml", first), ("4.yaml", first)])


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(
    st.sampled_from(["tasks", "triggers", "workflows"]),
    st.sampled_from(sorted({*TASK, *TRIGGER, "steps"})),
    json_values,
)
def test_junk_is_told_and_never_another_exception(kind: str, key: str, value: Any) -> None:
    name, definition = next(iter(PROJECT[kind].items()))
    document = {**PROJECT, kind: {name: {**definition, key: value}}}
    try:
        read_project(document)
    except DefinitionErrors as errors:
        assert all(error.path.startswith("$") for error in errors.errors)  # noqa: PT017
