"""What people see of an answer."""

from __future__ import annotations

import pytest

from tenure import output

RUN = "01a22f6b-3bd8-7f06-8db9-1a921364b6a1"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "-"),
        ("", "-"),
        ({}, "-"),
        ([], "-"),
        (0, "0"),
        (False, "no"),
        (1.5, "1.5"),
        ("two\nlines", "two lines"),
        ("2026-12-01T02:24:46.562167Z", "2026-12-01 02:24:46.562Z"),
        ({"region": "eu", "disk": None}, "region=eu disk=-"),
        (["2026-12-01T02:24:46.562167Z", 2], "2026-12-01 02:24:46.562Z, 2"),
    ],
)
def test_a_cell_is_short_and_plain(value: object, text: str) -> None:
    assert output.cell(value) == text


def test_a_table_breaks_no_cell_for_a_program(capsys: pytest.CaptureFixture[str]) -> None:
    rows: list[dict[str, object]] = [
        {"run": RUN, "started_at": None, "why": "word " * 40},
        {"run": "x", "why": "y"},
    ]
    output.show_table(("run", "started_at", "why"), rows)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"{'run':36}  started at  why"
    assert lines[1] == f"{RUN}  -           {('word ' * 40).strip()}"
    assert lines[2] == f"{'x':36}  -           y"


def test_on_a_terminal_the_last_column_is_wrapped_and_no_other(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "60")
    output.show_table(("run", "why"), [{"run": RUN, "why": "word " * 8}])
    assert capsys.readouterr().out.splitlines() == [
        f"{'run':36}  why",
        f"{RUN}  word word word word",
        f"{'':36}  word word word word",
    ]


def test_an_object_is_told_without_what_it_has_not(capsys: pytest.CaptureFixture[str]) -> None:
    output.show_fields({"run": RUN, "finished_at": None, "input": {"day": [1]}, "attempts": 0})
    assert capsys.readouterr().out == f'run       {RUN}\ninput     {{"day": [1]}}\nattempts  0\n'
