"""The first operators: made by whoever may become the owner of the database, never through the API."""

from __future__ import annotations

from tenure_contracts.error import Refusal
from tenure_contracts.identity import (
    OPERATOR_SECRET_DOMAIN,
    IdentityError,
    check_name,
    operator_token,
    parse_operator_token,
)
from tenure_control.operator.secret import new_id, new_secret
from tenure_control.repository.access.caller import EVERY_PROJECT, Role, identify
from tenure_control.repository.access.enrolment import enrol
from tenure_postgres.database import Connection, Database


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
    token_id = new_id()
    secret = new_secret(OPERATOR_SECRET_DOMAIN, operator_token, token_id)

    async def unit(connection: Connection) -> None:
        await enrol(connection, name, project, role, token_id, secret.digest)

    await database.transact(unit)
    return secret.token


async def knows_token(database: Database, token: str) -> bool:
    """Whether this database takes the token. `database`: opened as `tenure_operator`."""

    async def unit(connection: Connection) -> bool:
        try:
            await identify(connection, parse_operator_token(token))
        except (Refusal, IdentityError):
            return False
        return True

    return await database.fetch(unit)
