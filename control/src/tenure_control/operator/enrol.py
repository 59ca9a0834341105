"""The first operators: made by whoever may become the owner of the database, never through the API."""

from __future__ import annotations

import secrets
from typing import Final

from tenure_contracts.error import Refusal
from tenure_contracts.identity import (
    OPERATOR_SECRET_DOMAIN,
    SECRET_BYTES,
    IdentityError,
    check_name,
    operator_token,
    parse_operator_token,
    secret_digest,
)
from tenure_control.repository.access.caller import EVERY_PROJECT, Role, identify
from tenure_control.repository.access.enrolment import enrol
from tenure_postgres.database import Connection, Database

_ID_CHARACTERS: Final = "0123456789abcdefghijklmnopqrstuvwxyz"
_ID_LENGTH: Final = 16


async def enrol_operator(
    database: Database, name: str, *, role: Role = "owner", project: str = EVERY_PROJECT
) -> str:
    """Give an operator a role and a new token, and return the token: it cannot be read again.

    Args:
        database: opened as `tenure_migrate`, which may become the owner.
        name: the operator, made when there is none of that name; a role it has in `project` is replaced.
        project: `*` for every project, including those to come.

    Raises IdentityError for a bad name, and the errors of tenure_postgres.
    """
    check_name(name, "operator")
    if project != EVERY_PROJECT:
        check_name(project, "project")
    token_id = "".join(secrets.choice(_ID_CHARACTERS) for _ in range(_ID_LENGTH))
    secret = secrets.token_bytes(SECRET_BYTES)
    digest = secret_digest(OPERATOR_SECRET_DOMAIN, secret)

    async def unit(connection: Connection) -> None:
        await enrol(connection, name, project, role, token_id, digest)

    await database.transact(unit)
    return operator_token(token_id, secret)


async def knows_token(database: Database, token: str) -> bool:
    """Whether this database takes the token. `database`: opened as `tenure_operator`."""

    async def unit(connection: Connection) -> bool:
        try:
            await identify(connection, parse_operator_token(token))
        except (Refusal, IdentityError):
            return False
        return True

    return await database.fetch(unit)
