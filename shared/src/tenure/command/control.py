"""`tenure control`: the process that decides, and its database."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TypeVar

import click
import trio

from tenure import output
from tenure.command import check as checking
from tenure.command import option
from tenure.exit import Stop
from tenure.where import find
from tenure_contracts.privilege import Role
from tenure_control.__main__ import main
from tenure_control.migration import HistoryError, migrate, roles_sql
from tenure_control.operator import enrol_operator
from tenure_control.repository.access.caller import EVERY_PROJECT
from tenure_control.settings import PREFIX, read_settings
from tenure_control.usable import find_faults
from tenure_postgres.database import Connection, Database, open_database
from tenure_postgres.error import Busy, DatabaseError, Misconfigured, Unavailable
from tenure_postgres.readiness import Finding
from tenure_process.exit import ExitCode
from tenure_process.settings import SettingsError

T = TypeVar("T")

ANSWER_S = 60.0
"""How long a database that cannot be reached is tried."""


@click.group()
def command() -> None:
    """The process that decides, and its database. Settings: flags, TENURE_CONTROL_…, then a TOML file."""


@command.command("serve")
@option.settings_file
@option.setting(PREFIX, "LISTEN", "HOST:PORT", "Where operators and probes connect")
def serve(**flags: str | None) -> int:
    """Decide until SIGTERM or SIGINT; SIGHUP reads certificates again.

    \b
    Example:
      TENURE_CONTROL_DATABASE_URL=postgresql://tenure_control@db/tenure \\
      TENURE_OPERATOR_DATABASE_URL=postgresql://tenure_operator@db/tenure tenure control serve
    """
    return main(flags=option.given(flags))


@command.command("check")
@option.settings_file
@option.setting(PREFIX, "LISTEN", "HOST:PORT", "Where operators and probes connect")
def check(**flags: str | None) -> None:
    """Show the effective settings, and everything that would keep control from starting.

    \b
    Example:
      tenure control check
    """
    sources = checking.sources(option.given(flags))
    try:
        settings = read_settings(sources)
    except SettingsError as error:
        raise Stop(str(error), ExitCode.CONFIGURATION) from error
    addresses: dict[Role, str] = {
        "tenure_control": settings.database_url,
        "tenure_operator": settings.operator_database_url,
    }
    findings = checking.tls_findings(settings.tls) + trio.run(_find, addresses)
    checking.conclude(checking.settings_rows(settings, PREFIX, sources), findings)


@command.command("roles")
def roles() -> None:
    """Print the statements that make the five roles, for the database's administrator.

    \b
    Example:
      tenure control roles | psql "$TENURE_DATABASE_URL"
    """
    output.say(roles_sql())


@command.command("migrate")
@click.option("--database-url", metavar="URL", help="As tenure_migrate [TENURE_MIGRATE_DATABASE_URL].")
def migrate_database(database_url: str | None) -> None:
    """Apply what migrations are missing. Any number of these may run at once.

    \b
    Example:
      TENURE_MIGRATE_DATABASE_URL=postgresql://tenure_migrate@db/tenure tenure control migrate
    """
    address = find("TENURE_MIGRATE_DATABASE_URL", database_url)
    applied = trio.run(_as_migrator, address, _migrate)
    for name in applied:
        output.say(f"applied {name}")
    if not applied:
        output.say("nothing to apply: the schema is up to date")


@command.command("enroll")
@click.argument("name")
@click.option(
    "--role", type=click.Choice(["owner", "admin", "operator", "viewer"]), default="viewer", show_default=True
)
@click.option(
    "--project", metavar="P", default=EVERY_PROJECT, help="Where the role holds; default: everywhere."
)
@click.option("--database-url", metavar="URL", help="As tenure_migrate [TENURE_MIGRATE_DATABASE_URL].")
def enroll(name: str, role: str, project: str, database_url: str | None) -> None:
    """Give an operator a role, and print a new token of it, once.

    This is how the first operator comes to be: it needs the database itself, not the API.

    \b
    Example:
      tenure control enroll ann --role owner
    """

    async def enrol(database: Database) -> str:
        return await enrol_operator(database, name, role=role, project=project)  # type: ignore[arg-type]

    output.say(trio.run(_as_migrator, find("TENURE_MIGRATE_DATABASE_URL", database_url), enrol))


async def _find(addresses: Mapping[Role, str]) -> tuple[Finding, ...]:
    async with checking.opened(addresses) as databases:
        return await find_faults(databases)


async def _migrate(database: Database) -> list[str]:
    return [migration.name for migration in await migrate(database)]


async def _as_migrator(address: str, work: Callable[[Database], Awaitable[T]]) -> T:
    """Do something as tenure_migrate. Raises Stop: 75 when the server stays away, 78 when it is wrong."""
    async with open_database(address, size=1, name="tenure migrate") as database:
        try:
            await _wait_writable(database)
            return await work(database)
        except HistoryError as error:
            raise Stop(str(error), ExitCode.CONFIGURATION) from error
        except Misconfigured as error:
            raise Stop(f"{error}{_advice(error)}", ExitCode.CONFIGURATION) from error
        except (Busy, Unavailable) as error:
            raise Stop(f"the database cannot be worked with now: {error}", ExitCode.TEMPORARY) from error
        except DatabaseError as error:
            raise Stop(str(error)) from error


def _advice(error: Misconfigured) -> str:
    """What helps when the server knows no such role or database, or gives the role too little."""
    if error.sqlstate is None or not error.sqlstate.startswith(("28", "3D", "42501")):
        return ""
    return ": has the administrator run `tenure control roles` in this database?"


async def _wait_writable(database: Database) -> None:
    async def reads_only(connection: Connection) -> bool:
        return bool(await connection.fetchval("SELECT current_setting('transaction_read_only')::boolean"))

    deadline = trio.current_time() + ANSWER_S
    while True:
        try:
            if await database.fetch(reads_only):
                raise Stop(
                    "the server is read-only: give the address of the writable primary",
                    ExitCode.CONFIGURATION,
                )
        except Unavailable:
            if trio.current_time() > deadline:
                raise
        else:
            return
        await trio.sleep(0.5)
