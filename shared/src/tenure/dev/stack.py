"""The stack in the foreground: what starts first stops last."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import httpx
import trio

from tenure import output
from tenure.dev.database import NAME, Addresses, create_database, prepare_database
from tenure.dev.place import Place, write_private
from tenure.dev.process import Child, supervise
from tenure.embedded import EmbeddedServer, EmbeddedServerError
from tenure.exit import CONFIGURATION, TEMPORARY, Stop
from tenure.where import format_env

READY_S = 60.0
POLL_S = 0.05


@dataclass(frozen=True)
class Wishes:
    """What the caller wants of a stack.

    Attributes:
        restart: start a process again that ended.
        database_url: an administrator's address of a server to use instead of the embedded one.
        settings: further `TENURE_…` settings for the processes.
    """

    restart: bool = True
    database_url: str | None = None
    settings: Mapping[str, str] = field(default_factory=dict)


async def run(
    place: Place, wishes: Wishes, *, task_status: trio.TaskStatus[dict[str, str]] = trio.TASK_STATUS_IGNORED
) -> None:
    """Run PostgreSQL, control and ingress until cancelled, then stop ingress, control and PostgreSQL.

    `started()` gets the content of the env file, once everything is ready. Raises Stop with one sentence when
    something does not come up; what was started is stopped again.
    """
    async with _database(place, wishes) as addresses, _processes(place, wishes, addresses) as environment:
        write_private(place.env, format_env(environment))
        try:
            task_status.started(environment)
            await trio.sleep_forever()
        finally:
            place.env.unlink(missing_ok=True)


@asynccontextmanager
async def _database(place: Place, wishes: Wishes) -> AsyncIterator[Addresses]:
    if wishes.database_url is not None:
        addresses = Addresses(wishes.database_url)
        await prepare_database(addresses)
        yield addresses
        return
    server = EmbeddedServer(place.postgres)
    try:
        await trio.to_thread.run_sync(server.start)
    except EmbeddedServerError as error:
        raise Stop(str(error), CONFIGURATION) from error
    try:
        await create_database(server.dsn())
        addresses = Addresses(server.dsn(database=NAME))
        await prepare_database(addresses)
        yield addresses
    finally:
        with trio.CancelScope(shield=True):
            await trio.to_thread.run_sync(server.stop)


@asynccontextmanager
async def _processes(place: Place, wishes: Wishes, addresses: Addresses) -> AsyncIterator[dict[str, str]]:
    control, control_probe, ingress, probe = _free_ports(4)
    environment = {
        "TENURE_CONTROL_URL": f"http://127.0.0.1:{control}",
        "TENURE_INGRESS_URL": f"http://127.0.0.1:{ingress}",
        "TENURE_OPERATOR_TOKEN": await _operator_token(place, addresses),
        **addresses.environment(),
    }
    async with trio.open_nursery() as outer:
        await outer.start(_serve, place, wishes, _control(environment, wishes, control), control)
        async with trio.open_nursery() as inner:
            await inner.start(_serve, place, wishes, _ingress(environment, wishes, ingress, probe), probe)
            yield environment
            inner.cancel_scope.cancel()
        outer.cancel_scope.cancel()
