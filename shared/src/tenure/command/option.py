"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

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


def as_json(command: F) -> F:
    """`--json`: print the API's answer instead of a table."""
    return click.option("--json", "json_", is_flag=True, help="Print the API's answer.")(command)
