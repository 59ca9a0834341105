"""Help and usage: every verb explains itself, and a wrong call is told in words."""

from __future__ import annotations

from collections.abc import Iterator

import click
import pytest
from click.testing import CliRunner

from tenure.__main__ import root
from tenure.command import run
from tenure.exit import Stop
from tenure_process.exit import ExitCode


def _verbs(command: click.Command, name: str) -> Iterator[tuple[str, click.Command]]:
    if not isinstance(command, click.Group):
        yield name, command
        return
    context = click.Context(command)
    for each in command.list_commands(context):
        found = command.get_command(context, each)
        assert found is not None
        yield from _verbs(found, f"{name} {each}")


VERBS = dict(_verbs(root, "tenure"))


@pytest.mark.parametrize("verb", VERBS)
def test_the_help_of_each_verb_has_an_example(verb: str) -> None:
    shown = CliRunner().invoke(VERBS[verb], ["--help"], prog_name=verb).output
    example = shown.partition("Example:")[2].partition("Options:")[0]
    assert verb in example
    assert max(map(len, shown.splitlines())) <= 100


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("{", "Expecting property name"),
        ('{"a": 1, "a": 2}', "a key stands there twice"),
        ("NaN", "NaN is no JSON number"),
        ('{"a": -Infinity}', "-Infinity is no JSON number"),
        ("[" * 100_000, "recursion"),
    ],
)
def test_input_that_is_not_json_is_refused(text: str, complaint: str) -> None:
    with pytest.raises(Stop, match=complaint) as stop:
        run._parse(text)
    assert stop.value.code == ExitCode.USAGE
    assert len(str(stop.value)) < 300
