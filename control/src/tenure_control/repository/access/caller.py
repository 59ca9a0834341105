"""Authentication and roles, checked in the transaction whose effect they permit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from tenure_contracts.error import Refusal
from tenure_contracts.identity import Token
from tenure_postgres.database import Connection
from tenure_postgres.query import folder

QUERIES: Final = folder(__package__)

Role = Literal["viewer", "operator", "admin", "owner"]
ROLES: Final[tuple[Role, ...]] = ("viewer", "operator", "admin", "owner")
"""In rising order: each may do what those before it may."""

EVERY_PROJECT: Final = "*"


@dataclass(frozen=True, slots=True)
class Demand:
    """What a call needs: a token, and a role in a project (`*`: in every project).

    `creates`: the call may make the project, so that it need not exist.
    """

    token: Token
    role: Role
    project: str = EVERY_PROJECT
    creates: bool = False


async def identify(connection: Connection, token: Token) -> str:
    """The operator of a token, whatever they may do. Raises Refusal `credential_refused`."""
    row = await connection.fetchrow(QUERIES["authenticate"], token.id, token.secret_digest, EVERY_PROJECT)
    if row is None:
        raise Refusal("credential_refused")
    return str(row["operator"])


async def admit_caller(connection: Connection, demand: Demand) -> str:
    """The operator who may do what is demanded.

    Raises Refusal: `credential_refused`; `not_found` for a project that does not exist or where the operator
    has no role, which look the same from outside; `forbidden` for a role that is too low.
    """
    token = demand.token
    row = await connection.fetchrow(QUERIES["authenticate"], token.id, token.secret_digest, demand.project)
    if row is None:
        raise Refusal("credential_refused")
    rank = max((ROLES.index(role) for role in row["roles"]), default=-1)
    if demand.project != EVERY_PROJECT and (rank < 0 or not (row["known"] or demand.creates)):
        raise Refusal("not_found", f"There is no project {demand.project}.")
    if rank < ROLES.index(demand.role):
        where = "every project" if demand.project == EVERY_PROJECT else f"project {demand.project}"
        raise Refusal("forbidden", f"This needs the role {demand.role} in {where}.")
    return str(row["operator"])
