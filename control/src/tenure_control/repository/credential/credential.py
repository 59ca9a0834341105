"""Issuing, rotating and revoking. Secrets come as digests: the clear text never reaches the database."""

from __future__ import annotations

from typing import Final
from uuid import UUID

from tenure_postgres.database import Connection, Row
from tenure_postgres.query import folder

QUERIES: Final = folder(__package__)


async def make_worker(connection: Connection, worker: str) -> None:
    """Make a worker, unless it exists."""
    await connection.execute(QUERIES["make_worker"], worker)


async def append_version(
    connection: Connection,
    credential: str,
    version: int,
    worker: str,
    digest: bytes,
    request_id: UUID,
    operator: str,
) -> None:
    """Append a version; the older ones end with it. Raises Conflict when there is one of this number."""
    await connection.execute(
        QUERIES["append_version"], credential, version, worker, digest, request_id, operator
    )


async def take_credential(connection: Connection, credential: str, worker: str) -> Row | None:
    """Lock a worker's credential; the version that counts, or None."""
    await connection.execute(QUERIES["lock_versions"], credential, worker)
    return await connection.fetchrow(QUERIES["newest_version"], credential, worker)


async def version_of_request(connection: Connection, request_id: UUID) -> Row | None:
    """The version that a request made before."""
    return await connection.fetchrow(QUERIES["version_of_request"], request_id)


async def revoke(connection: Connection, credential: str, worker: str) -> None:
    """End every version of a credential."""
    await connection.execute(QUERIES["revoke_versions"], credential, worker)


async def list_credentials(connection: Connection, worker: str, after: str | None, limit: int) -> list[Row]:
    """Credentials of a worker by id, after an id."""
    return await connection.fetch(QUERIES["list_credentials"], worker, after, limit)
