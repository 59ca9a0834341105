"""`tenure ingress`: the process that workers reach."""

from __future__ import annotations

import os

import click
import trio

from tenure.command import check as checking
from tenure.exit import CONFIGURATION, Stop
from tenure_contracts.privilege import Role
from tenure_ingress.__main__ import main
from tenure_ingress.settings import PREFIX, SettingsError, read_settings


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
    try:
        settings = read_settings(os.environ)
    except SettingsError as error:
        raise Stop(str(error), CONFIGURATION) from error
    addresses: dict[Role, str] = {"tenure_ingress": settings.database_url}
    findings = trio.run(checking.find, addresses)
    checking.conclude(checking.settings_rows(settings, PREFIX, os.environ), findings)
