"""How a template database is prepared, once per test session; each test gets a copy of one."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeAlias

import trio

from tenure.embedded import EmbeddedServer
from tenure_control.migration import migrate, roles_sql
from tenure_postgres.database import open_database
from tests.harness.blocking import BlockingConnection

Prepare: TypeAlias = Callable[[EmbeddedServer, str], None]
"""Makes the database of this name, which exists and is empty, into what the tests want copies of."""


def bare(server: EmbeddedServer, database: str) -> None:
    """Leave it empty: no role settings, no schema."""


def with_roles(server: EmbeddedServer, database: str) -> None:
    """The five roles and their settings in this database, without a schema."""
    with BlockingConnection(server.dsn(database=database)) as connection:
        connection.execute(roles_sql())


def prepare_template(server: EmbeddedServer, database: str) -> None:
    """Roles and every migration: the schema that the processes run on."""
    with_roles(server, database)
    _in_thread(_migrate, server.dsn("tenure_migrate", database))


async def _migrate(dsn: str) -> None:
    async with open_database(dsn, size=1, name="template", deadline_s=60) as database:
        await migrate(database)


def _in_thread(work: Callable[[str], Awaitable[None]], dsn: str) -> None:
    # A fixture may be set up while a trio test's loop already runs in this thread.
    with ThreadPoolExecutor(1) as thread:
        thread.submit(lambda: trio.run(work, dsn)).result()


class Templates:
    """The templates of one server, each made when it is first wanted."""

    def __init__(self, server: EmbeddedServer, admin: BlockingConnection) -> None:
        self._server = server
        self._admin = admin
        self._made: dict[Prepare, str] = {}

    def name(self, prepare: Prepare) -> str:
        """The database that `prepare` made."""
        if prepare not in self._made:
            name = f"template_{len(self._made)}_{prepare.__name__}"
            self._admin.execute(f'CREATE DATABASE "{name}" STRATEGY file_copy')
            prepare(self._server, name)
            self._made[prepare] = name
        return self._made[prepare]

    def copy(self, prepare: Prepare, name: str) -> None:
        """Make a database like the template, settings and rights of the database itself included."""
        template = self.name(prepare)
        self._admin.execute(f'CREATE DATABASE "{name}" TEMPLATE "{template}" STRATEGY file_copy')
        for statement in self._of_database(template, name):
            self._admin.execute(statement)

    def _of_database(self, template: str, name: str) -> Sequence[str]:
        # CREATE DATABASE copies what is inside of a database; these belong to the server.
        found = self._admin.rows(SETTINGS_AND_RIGHTS, template, name)
        return [row["statement"] for row in found]


SETTINGS_AND_RIGHTS = """
SELECT format('ALTER ROLE %I IN DATABASE %I SET %I = %L', rolname, $2::text,
              split_part(setting, '=', 1), substr(setting, strpos(setting, '=') + 1)) AS statement
  FROM pg_db_role_setting
  JOIN pg_database ON pg_database.oid = setdatabase
  JOIN pg_roles ON pg_roles.oid = setrole
 CROSS JOIN unnest(setconfig) AS setting
 WHERE datname = $1
UNION ALL
SELECT format('REVOKE ALL ON DATABASE %I FROM PUBLIC', $2) FROM pg_database
 WHERE datname = $1 AND datacl IS NOT NULL
UNION ALL
SELECT format('GRANT %s ON DATABASE %I TO %s', privilege_type, $2,
              CASE WHEN grantee = 0 THEN 'PUBLIC' ELSE quote_ident(grantee::regrole::text) END)
  FROM pg_database CROSS JOIN aclexplode(datacl) WHERE datname = $1
"""
