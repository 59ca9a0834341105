"""Applies what is missing, one transaction per file together with its history row.

Any number of runners may start at once. They take turns by a table lock on the history, asked for with
NOWAIT and polled: no advisory lock, which a pooler would lose, and no queue in front of the running system.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

import trio

from tenure_control.migration.file import Migration, load_migrations
from tenure_control.migration.history import Applied, pending
from tenure_postgres.database import Connection, Database
from tenure_postgres.error import Busy, Conflict

TURN_WAIT_S = 60.0
"""How long a runner waits for its turn. One migration holds the lock for well under a second."""

MIGRATION_DEADLINE_S = 15 * 60.0
"""How long one migration may take: a concurrent index on a large table."""

_BECOME_OWNER = "SET LOCAL ROLE tenure_owner"

_MAKE_HISTORY = """
CREATE SCHEMA IF NOT EXISTS tenure;
CREATE TABLE IF NOT EXISTS tenure.schema_migrations (
    id         integer PRIMARY KEY,
    name       text NOT NULL,
    checksum   bytea NOT NULL CHECK (octet_length(checksum) = 32),
    applied_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
"""
_TAKE_TURN = "LOCK TABLE tenure.schema_migrations IN SHARE ROW EXCLUSIVE MODE NOWAIT"
_READ_HISTORY = "SELECT id, name, checksum FROM tenure.schema_migrations ORDER BY id"
_WRITE_HISTORY = (
    "INSERT INTO tenure.schema_migrations (id, name, checksum) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING"
)
_HAS_HISTORY = "SELECT to_regclass('tenure.schema_migrations') IS NOT NULL"


async def migrate(database: Database, migrations: Sequence[Migration] | None = None) -> tuple[Migration, ...]:
    """Apply every pending migration and return those that this call applied.

    Args:
        database: opened as `tenure_migrate`, which may become the owner.
        migrations: what to apply; None: the files of this package.

    Raises HistoryError when history and files contradict each other (nothing is applied then), Busy when
    our turn does not come for 60 s, or another error of tenure_postgres. A cancelled call leaves whole
    migrations behind.
    """
    wanted = load_migrations() if migrations is None else tuple(migrations)
    await _make_history(database)
    done: list[Migration] = []
    deadline = trio.current_time() + TURN_WAIT_S
    while True:
        try:
            applied = await _apply_next(database, wanted)
        except Busy as busy:
            if not busy.raced or trio.current_time() > deadline:
                raise
            await trio.sleep(random.uniform(0.02, 0.2))  # noqa: S311 - jitter, not a secret
            continue
        if applied is None:
            return tuple(done)
        done.append(applied)
        deadline = trio.current_time() + TURN_WAIT_S


async def applied_migrations(database: Database) -> tuple[Applied, ...]:
    """The history of a database, oldest first; empty when it was never migrated."""

    async def read(connection: Connection) -> tuple[Applied, ...]:
        if not await connection.fetchval(_HAS_HISTORY):
            return ()
        return await _read_history(connection)

    return await database.fetch(read)


async def _make_history(database: Database) -> None:
    async def unit(connection: Connection) -> None:
        await connection.execute(_BECOME_OWNER)
        await connection.execute(_MAKE_HISTORY)

    try:
        await database.transact(unit)
    except Conflict:
        # IF NOT EXISTS loses a race against another creator with a unique violation: then it exists.
        await database.transact(unit)


async def _apply_next(database: Database, wanted: Sequence[Migration]) -> Migration | None:
    """Apply the first pending migration, if there is one."""

    async def in_turn(connection: Connection) -> Migration | None:
        await connection.execute(_BECOME_OWNER)
        await connection.execute(_TAKE_TURN)
        following = next(iter(pending(await _read_history(connection), wanted)), None)
        if following is not None and following.transactional:
            await connection.execute(following.sql)
            await _record(connection, following)
        return following

    migration = await database.transact(in_turn, deadline_s=MIGRATION_DEADLINE_S)
    if migration is not None and not migration.transactional:
        await _apply_alone(database, migration)
    return migration


async def _apply_alone(database: Database, migration: Migration) -> None:
    """Apply one statement outside a transaction, then record it.

    Two runners may do so at once, and one may die in between: such a file must say IF NOT EXISTS.
    """

    async def statement(connection: Connection) -> None:
        await connection.execute("SET ROLE tenure_owner")
        try:
            await connection.execute(migration.sql)
        finally:
            # asyncio: whoever cancels this terminates the connection, so nothing can hang here.
            await connection.execute("RESET ROLE")  # noqa: ASYNC102

    async def record(connection: Connection) -> None:
        await connection.execute(_BECOME_OWNER)
        await _record(connection, migration)

    await database.call(statement, deadline_s=MIGRATION_DEADLINE_S)
    await database.transact(record)


async def _record(connection: Connection, migration: Migration) -> None:
    await connection.execute(_WRITE_HISTORY, migration.id, migration.name, migration.checksum)


async def _read_history(connection: Connection) -> tuple[Applied, ...]:
    rows = await connection.fetch(_READ_HISTORY)
    return tuple(Applied(row["id"], row["name"], row["checksum"]) for row in rows)
