"""How a connection is made, and the names by which units of work know it.

Values cross as they are in asyncpg: `json` and `jsonb` as text, `uuid` as `uuid.UUID`, `timestamptz` as aware
datetimes in UTC.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeAlias

import asyncpg

from tenure_postgres.error import Misconfigured

Row: TypeAlias = asyncpg.Record
Connection: TypeAlias = "asyncpg.Connection[asyncpg.Record]"

# Enough for every statement of one process; their plans are generic, so more would be waste.
STATEMENTS = 128

EXAMPLE = "postgresql://role@host:5432/database, and special characters of a password percent-encoded"

# The driver's own timers stay off: under trio-asyncio they are never freed. The border has its deadline.
WITHOUT_TIMERS: dict[str, Any] = {
    "timeout": None,
    "command_timeout": None,
    "max_cached_statement_lifetime": 0,
}


@dataclass(frozen=True)
class Address:
    """Where to connect and as what.

    `statements` is how many prepared statements a connection keeps: 0 behind a pooler in transaction mode,
    where the next statement may go to another server process.
    """

    dsn: str = field(repr=False)
    name: str
    statements: int = STATEMENTS

    async def connect(self) -> Connection:
        """Connect, in asyncio. Raises Misconfigured for an address that is none."""
        try:
            made: Connection = await asyncpg.connect(
                self.dsn,
                statement_cache_size=self.statements,
                server_settings={"application_name": self.name},
                **WITHOUT_TIMERS,
            )
        except ValueError:
            # Of reading the address, in many kinds: an IPv6 host without its end, a port that is no number.
            # What they quote may be a piece of a password that was not encoded.
            raise Misconfigured(f"the address cannot be read: it must be like {EXAMPLE}") from None
        return made


def is_whole(connection: Connection) -> bool:
    """Whether the next unit may use the connection."""
    return not connection.is_closed() and not connection.is_in_transaction()
