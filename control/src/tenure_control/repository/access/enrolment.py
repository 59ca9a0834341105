"""Making operators, as the owner of the database."""

from __future__ import annotations

from typing import Final

from tenure_control.repository.access.caller import Role
from tenure_postgres.database import Connection
from tenure_postgres.query import folder

QUERIES: Final = folder(__package__)

_BECOME_OWNER: Final = "SET LOCAL ROLE tenure_owner"


async def enrol(
    connection: Connection, operator: str, project: str, role: Role, token: str, digest: bytes
) -> None:
    """Make an operator (or take the one of that name), bind a role, add a token. Needs tenure_migrate."""
    await connection.execute(_BECOME_OWNER)
    await connection.execute(QUERIES["enrol_operator"], operator, project, role, token, digest)
