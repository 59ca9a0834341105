"""Templates: paths and nothing else, strict, with types where a value stands alone."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure_contracts import bounds
from tenure_contracts.plan import StoredPlan
from tenure_contracts.template import (
    TemplateError,
    parse,
    paths,
    render_plan,
    render_text,
    render_value,
    scheduled_fields,
)

CONTEXT: dict[str, Any] = {
    "input": {"day": "2026-12-01", "n": 3, "ok": True, "none": None, "rows": [{"id": 7}], "a.b": "dotted"},
    "scheduled_for": scheduled_fields(datetime(2026, 12, 1, 1, 30, tzinfo=UTC), "Europe/Berlin"),
    "steps": {"extract": {"output": {"rows": 5}}, "close.day": {"output": "x"}},
}


@pytest.mark.parametrize(
    ("text", "rendered"),
    [
        ("plain", "plain"),
        ("", ""),
        ("--day={{ input.day }}", "--day=2026-12-01"),
        ("{{input.day}}{{input.n}}", "2026-12-013"),
        ("{{ input.ok }}", "true"),
        ("{{ input.rows }}", '[{"id":7}]'),
        ("{{ input.rows[0].id }}", "7"),
        ('{{ input["a.b"] }}', "dotted"),
        ('{{ steps["close.day"].output }}', "x"),
        ("{{ scheduled_for.date }} {{ scheduled_for.time }}", "2026-12-01 02:30:00"),
        ("{{ scheduled_for.iso }}", "2026-12-01T02:30:00+01:00"),
        ("{{ scheduled_for.utc }} {{ scheduled_for.unix }}", "2026-12-01T01:30:00Z 1796088600"),
        ('{{ "{{" }} literal }}', "{{ literal }}"),
        ("{ single } braces }}", "{ single } braces }}"),
        ("$(rm -rf {{ input.day }}); `x`", "$(rm -rf 2026-12-01); `x`"),
    ],
)
def test_rendering(text: str, rendered: str) -> None:
    assert render_text(text, CONTEXT) == rendered


MISTAKES = """
{{ input.day
{{ inptu.day }}
{{ }}
{{ input. }}
{{ input.day | upper }}
{{ input[x] }}
{{ input.day + 1 }}
{{ input.a b }}
{{{ input.day }}}
{{ Input.day }}
{{ input..a }}
"""


@pytest.mark.parametrize("text", MISTAKES.strip().splitlines())
def test_mistakes_are_found_when_parsed(text: str) -> None:
    with pytest.raises(TemplateError):
        parse(text)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("{{ input.missing }}", "input.missing"),
        ("{{ input.rows[1] }}", "input.rows[1]"),
        ("{{ input.day[0] }}", "input.day[0]"),
        ("{{ input.day.year }}", "input.day.year"),
        ("{{ input.rows.id }}", "input.rows.id"),
        ("{{ input[0] }}", "input[0]"),
        ("x{{ input.none }}", "input.none"),
        ("{{ input.none.x }}", "input.none.x"),
        ("{{ steps.load.output }}", "steps.load.output"),
    ],
)
def test_a_missing_path_is_named(text: str, named: str) -> None:
    with pytest.raises(TemplateError) as caught:
        render_text(text, CONTEXT)
    assert f"`{named}`" in str(caught.value)


def test_a_value_alone_keeps_its_type() -> None:
    value = {
        "rows": "{{ input.rows }}",
        "n": ["{{ input.n }}", "n={{ input.n }}"],
        "none": "{{ input.none }}",
        "k": 1,
    }
    assert render_value(value, CONTEXT) == {"rows": [{"id": 7}], "n": [3, "n=3"], "none": None, "k": 1}
    assert [path.text for path in paths(value)] == ["input.rows", "input.n", "input.n", "input.none"]


@given(st.text())
def test_text_without_braces_is_itself(text: str) -> None:
    plain = text.replace("{", "(")
    assert render_text(plain, {}) == plain


@given(st.text())
def test_what_is_filled_in_is_never_read_as_a_template(text: str) -> None:
    assert render_text("{{ input }}", {"input": text}) == text
    assert render_text("<{{ input }}>", {"input": text}) == f"<{text}>"


def test_a_plan_is_rendered_in_every_part() -> None:
    plan = StoredPlan(
        executor="command",
        argv=("report", "--day", "{{ input.day }}"),
        env={"N": "{{ input.n }}"},
        cwd="/srv/{{ input.day }}",
        stdin="{{ input.rows }}",
    )
    assert render_plan(plan, CONTEXT) == StoredPlan(
        executor="command",
        argv=("report", "--day", "2026-12-01"),
        env={"N": "3"},
        cwd="/srv/2026-12-01",
        stdin='[{"id":7}]',
    )
    handler = StoredPlan(executor="handler", handler="h", arguments={"n": "{{ input.n }}"})
    assert render_plan(handler, CONTEXT).arguments == {"n": 3}


def test_faults_of_a_plan_name_the_part() -> None:
    with pytest.raises(TemplateError, match=r"argv\[1\]: `input.x` has no value"):
        render_plan(StoredPlan(executor="command", argv=("a", "{{ input.x }}")), CONTEXT)
    long = {"input": "x" * (bounds.ARGUMENT_CHARACTERS + 1)}
    with pytest.raises(TemplateError, match=r"env\.A: renders to 32769 characters"):
        render_plan(StoredPlan(executor="command", argv=("a",), env={"A": "{{ input }}"}), long)
