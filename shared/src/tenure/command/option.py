"""Options that several commands share."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import click

from tenure_process.source import FILE

F = TypeVar("F", bound=Callable[..., Any])


def operator(command: F) -> F:
    """`--control-url` and `--operator-token`, passed on as `control_url` and `operator_token`."""
    url = click.option("--control-url", metavar="URL", help="Where control listens [TENURE_CONTROL_URL].")
    token = click.option(
        "--operator-token",
        metavar="TOKEN",
        help="Who you are [TENURE_OPERATOR_TOKEN]; better kept off the command line.",
    )
    return url(token(command))


def project(command: F) -> F:
    """`--project`, required."""
    return click.option("--project", "-p", required=True, metavar="P", help="The project.")(command)


def request_id(command: F) -> F:
    """`--request-id`, a fresh one unless it is given."""
    return click.option(
        "--request-id",
        metavar="UUID",
        default=lambda: str(uuid.uuid4()),
        help="The id of the request: given again after an answer was lost, nothing happens twice.",
    )(command)


def as_json(command: F) -> F:
    """`--json`: print the API's answer instead of a table."""
    return click.option("--json", "json_", is_flag=True, help="Print the API's answer.")(command)


def setting(prefix: str, word: str, metavar: str, sentence: str) -> Callable[[F], F]:
    """A flag for a setting, passed on by its name: TENURE_INGRESS_LISTEN is `--listen`."""
    name = prefix + word
    return click.option(name.lower(), _flag(word), metavar=metavar, help=f"{sentence} [{name}].")


def switch(prefix: str, word: str, sentence: str) -> Callable[[F], F]:
    """The same for a setting that is yes or no."""
    name = prefix + word
    return click.option(name.lower(), _flag(word), flag_value="yes", help=f"{sentence} [{name}].")


def settings_file(command: F) -> F:
    """`--settings`."""
    help_ = f"A TOML file of settings [{FILE}]."
    return click.option(FILE.lower(), "--settings", metavar="FILE", help=help_)(command)


def _flag(word: str) -> str:
    return f"--{word.lower().replace('_', '-')}"


def given(flags: Mapping[str, str | None]) -> dict[str, str]:
    """The flags that were given, by the names of their settings."""
    return {name.upper(): value for name, value in flags.items() if value is not None}
