"""`tenure ingress`: the process that workers reach."""

from __future__ import annotations

import click
import trio

from tenure.command import check as checking
from tenure.exit import Stop
from tenure_ingress import openapi as document
from tenure_ingress.__main__ import main
from tenure_ingress.settings import PREFIX, read_settings
from tenure_postgres.readiness import Finding, check_readiness
from tenure_process.exit import ExitCode
from tenure_process.settings import SettingsError


@click.group()
def command() -> None:
    """The only thing a worker can reach. Settings come from TENURE_INGRESS_… in the environment."""


@command.command()
def serve() -> int:
    """Serve workers until SIGTERM or SIGINT.

    \b
    Example:
      TENURE_INGRESS_DATABASE_URL=postgresql://tenure_ingress@db/tenure tenure ingress serve
    """
    return main()


@command.command()
def check() -> None:
    """Show the effective settings, and everything that would keep the ingress from starting.

    \b
    Example:
      tenure ingress check
    """
    environ = checking.environment()
    try:
        settings = read_settings(environ)
    except SettingsError as error:
        raise Stop(str(error), ExitCode.CONFIGURATION) from error
    findings = trio.run(_find, settings.database_url)
    checking.conclude(checking.settings_rows(settings, PREFIX, environ), findings)


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
