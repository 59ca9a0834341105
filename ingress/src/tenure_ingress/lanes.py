"""The lanes of one process, each with a connection that nobody else takes, and the pools beside them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from tenure_contracts import bounds
from tenure_ingress.repository.acknowledgement import Acknowledgement, Name, acknowledge
from tenure_ingress.repository.caller import Caller
from tenure_ingress.repository.heartbeat import beat
from tenure_ingress.repository.renewal import Renewal, renew
from tenure_ingress.repository.row import HeartbeatRow
from tenure_ingress.settings import Settings
from tenure_postgres.database import Database, open_database
from tenure_postgres.lane import Lane

REQUEST_CONNECTIONS: Final = 4

ITEMS_PER_CALL: Final = 64
"""Of everything but renewals: completions gain nothing beyond it, and one call must not hold 256 runs."""

ACKNOWLEDGED: Final[tuple[Name, ...]] = ("starting", "running", "complete")
"""What is told once per attempt; a failed start is rare, and waits with `running`."""


@dataclass(frozen=True)
class Lanes:
    """The lanes. `acknowledgements` has one for each name of call; `database` is for everything else."""

    database: Database
    notify: Database
    renewals: Lane[Renewal, Renewal]
    heartbeats: Lane[Caller, HeartbeatRow]
    acknowledgements: Mapping[Name, Lane[Acknowledgement, Any]]

    @property
    def all(self) -> tuple[Lane[Any, Any], ...]:
        """Every lane: each has to be run."""
        return (self.renewals, self.heartbeats, *self.acknowledgements.values())


@asynccontextmanager
async def open_lanes(settings: Settings) -> AsyncIterator[Lanes]:
    """Have pools and lanes for the block. Nothing is connected before the first call."""
    async with AsyncExitStack() as stack:

        async def opened(size: int, name: str) -> Database:
            return await stack.enter_async_context(
                open_database(
                    settings.database_url,
                    size=size,
                    name=f"tenure ingress {name}",
                    statements=settings.statements,
                )
            )

        own: dict[Name, Database] = {name: await opened(1, name) for name in ACKNOWLEDGED}
        databases: Mapping[Name, Database] = {**own, "start_failure": own["running"]}
        yield Lanes(
            database=await opened(REQUEST_CONNECTIONS, "requests"),
            notify=await opened(1, "notify"),
            renewals=_renewals(settings, await opened(1, "renew")),
            heartbeats=Lane(await opened(1, "heartbeat"), beat, name="heartbeat", max_items=ITEMS_PER_CALL),
            acknowledgements={name: _acknowledgements(name, on) for name, on in databases.items()},
        )


def _renewals(settings: Settings, database: Database) -> Lane[Renewal, Renewal]:
    batch = partial(renew, lease_s=settings.lease_s)
    return Lane(database, batch, name="renew", max_items=bounds.LEASES_PER_RENEWAL)


def _acknowledgements(name: Name, database: Database) -> Lane[Acknowledgement, Any]:
    return Lane(database, partial(acknowledge, name), name=name, max_items=ITEMS_PER_CALL)
