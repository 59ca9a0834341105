"""The database of a stack: made, given its roles, migrated; and who may log in as what."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final
from urllib.parse import quote, urlsplit, urlunsplit

from tenure.embedded import EmbeddedServer
from tenure_control.migration import migrate, roles_sql
from tenure_control.operator import enrol_operator, knows_token
from tenure_postgres.database import Connection, open_database

NAME: Final = "tenure"


@dataclass(frozen=True)
class Addresses:
    """The database as its administrator sees it, and as each login role does."""

    administrator: str

    def of(self, role: str) -> str:
        """The same database, for another role."""
        parts = urlsplit(self.administrator)
        host = parts.netloc.rpartition("@")[2]
        return urlunsplit(parts._replace(netloc=f"{quote(role)}@{host}"))

    def environment(self) -> dict[str, str]:
        """As settings of the processes and the command line."""
        return {
            "TENURE_DATABASE_URL": self.administrator,
            "TENURE_MIGRATE_DATABASE_URL": self.of("tenure_migrate"),
            "TENURE_CONTROL_DATABASE_URL": self.of("tenure_control"),
            "TENURE_OPERATOR_DATABASE_URL": self.of("tenure_operator"),
            "TENURE_INGRESS_DATABASE_URL": self.of("tenure_ingress"),
        }


def wanted_server(address: str | None, embedded: EmbeddedServer) -> str | None:
    """The server of its own that an address wishes for; None for the embedded one of this very stack.

    A shell that sourced `.tenure/env` has the embedded server's address in `TENURE_DATABASE_URL`, and means
    that stack when it starts one again.
    """
    return None if address == embedded.dsn(database=NAME) else address or None


async def create_database(server: str) -> None:
    """Make the database on a server of one's own, unless it is there. `server`: its administrator."""

    async def unit(connection: Connection) -> None:
        if not await connection.fetchval("SELECT true FROM pg_database WHERE datname = $1", NAME):
            await connection.execute(f'CREATE DATABASE "{NAME}"')

    async with open_database(server, size=1, name="tenure dev") as database:
        await database.call(unit)


async def prepare_database(addresses: Addresses) -> int:
    """Make the roles and apply what migrations are missing; returns how many were."""

    async def roles(connection: Connection) -> None:
        await connection.execute(roles_sql())

    async with open_database(addresses.administrator, size=1, name="tenure dev") as database:
        await database.transact(roles)
    async with open_database(addresses.of("tenure_migrate"), size=1, name="tenure dev") as database:
        return len(await migrate(database))


async def enrol_owner(addresses: Addresses) -> str:
    """Make the operator `dev`, owner of every project, and return a new token of it."""
    async with open_database(addresses.of("tenure_migrate"), size=1, name="tenure dev") as database:
        return await enrol_operator(database, "dev")


async def is_known(addresses: Addresses, token: str) -> bool:
    """Whether this database takes an operator's token."""
    async with open_database(addresses.of("tenure_operator"), size=1, name="tenure dev") as database:
        return await knows_token(database, token)
