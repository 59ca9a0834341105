"""`tenure ingress`: the process that workers reach."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click
import trio

from tenure.command import check as checking
from tenure.command import option
from tenure.exit import Stop
from tenure_ingress import openapi as document
from tenure_ingress.__main__ import main
from tenure_ingress.settings import PREFIX, read_settings
from tenure_postgres.readiness import Finding, check_readiness
from tenure_process.exit import ExitCode
from tenure_process.settings import SettingsError

F = TypeVar("F", bound=Callable[..., Any])


def _flags(command: F) -> F:
    """What is told on the command line most often; every other setting has its name in the environment."""
    for add in (
        option.settings_file,
        option.switch(PREFIX, "INSECURE_PLAINTEXT", "Serve others without TLS: something in front speaks it"),
        option.setting(PREFIX, "PROCESSES", "N", "How many processes serve the address"),
        option.setting(PREFIX, "PROBE_LISTEN", "HOST:PORT", "Where probes connect"),
        option.setting(PREFIX, "LISTEN", "HOST:PORT", "Where workers connect"),
    ):
        command = add(command)
    return command


@click.group()
def command() -> None:
    """The only thing a worker can reach. Settings: flags, then TENURE_INGRESS_…, then a TOML file."""


@command.command()
@_flags
def serve(**flags: str | None) -> int:
    """Serve workers until SIGTERM or SIGINT; SIGHUP reads certificates again.

    \b
    Example:
      TENURE_INGRESS_DATABASE_URL=postgresql://tenure_ingress@db/tenure \\
      tenure ingress serve --processes 4
    """
    return main(flags=option.given(flags))


@command.command()
@_flags
def check(**flags: str | None) -> None:
    """Show the effective settings, and everything that would keep the ingress from starting.

    \b
    Example:
      tenure ingress check
    """
    sources = checking.sources(option.given(flags))
    try:
        settings = read_settings(sources)
    except SettingsError as error:
        raise Stop(str(error), ExitCode.CONFIGURATION) from error
    findings = checking.tls_findings(settings.tls) + trio.run(_find, settings.database_url)
    checking.conclude(checking.settings_rows(settings, PREFIX, sources), findings)


@command.command()
def openapi() -> None:
    """Print the OpenAPI 3.1 document of the worker protocol. It needs neither settings nor a database.

    \b
    Example:
      tenure ingress openapi > worker-protocol.json
    """
    click.echo(document.text(), nl=False)


async def _find(address: str) -> tuple[Finding, ...]:
    async with checking.opened({"tenure_ingress": address}) as databases:
        return await check_readiness(databases["tenure_ingress"], "tenure_ingress")
