"""The privilege contract: what each database role may do, as data.

Start-up readiness compares this with the catalogue exactly: a missing privilege and an extra one both
refuse to start, each named. The ingress role has no table privilege at all; what it may do is the list of
functions that it may execute, each of which demands the caller's proof.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, Literal, NamedTuple

Role = Literal["tenure_owner", "tenure_migrate", "tenure_control", "tenure_operator", "tenure_ingress"]
Privilege = Literal["SELECT", "INSERT", "UPDATE", "DELETE"]

ROLES: Final[tuple[Role, ...]] = (
    "tenure_owner",
    "tenure_migrate",
    "tenure_control",
    "tenure_operator",
    "tenure_ingress",
)
LOGIN_ROLES: Final[tuple[Role, ...]] = ROLES[1:]
"""The owner has no login; the migration role becomes it."""


class Grant(NamedTuple):
    """One privilege on one table; `columns` narrows it (UPDATE and SELECT), empty means the whole table."""

    privilege: Privilege
    columns: frozenset[str] = frozenset()


GRANTS: Final[Mapping[Role, Mapping[str, frozenset[Grant]]]] = MappingProxyType({})
"""Role → table (`schema.name`) → privileges."""

FUNCTIONS: Final[Mapping[Role, frozenset[str]]] = MappingProxyType({})
"""Role → identities (`schema.name(argument types)`) of the functions that it may execute."""
