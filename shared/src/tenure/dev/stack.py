"""The stack in the foreground: what starts first stops last."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import ExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial

import httpx
import trio

from tenure.dev.database import (
    NAME,
    Addresses,
    create_database,
    enrol_owner,
    is_known,
    prepare_database,
)
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
    control, ingress, probe = _free_ports(3)
    environment = {
        "TENURE_CONTROL_URL": f"http://127.0.0.1:{control}",
        "TENURE_INGRESS_URL": f"http://127.0.0.1:{ingress}",
        "TENURE_OPERATOR_TOKEN": await _operator_token(place, addresses),
        **addresses.environment(),
    }
    of_control = _child("control", environment, wishes, {"TENURE_CONTROL_LISTEN": f"127.0.0.1:{control}"})
    of_ingress = _child(
        "ingress",
        environment,
        wishes,
        {
            "TENURE_INGRESS_LISTEN": f"127.0.0.1:{ingress}",
            "TENURE_INGRESS_PROBE_LISTEN": f"127.0.0.1:{probe}",
        },
    )
    async with _running(of_control, place, wishes, control), _running(of_ingress, place, wishes, probe):
        yield environment


def _child(name: str, environment: Mapping[str, str], wishes: Wishes, own: Mapping[str, str]) -> Child:
    """A process of ours with nothing of `TENURE_…` but what it needs: it gets no other role's address."""
    wanted = {
        "control": ("TENURE_CONTROL_DATABASE_URL", "TENURE_OPERATOR_DATABASE_URL"),
        "ingress": ("TENURE_INGRESS_DATABASE_URL",),
    }[name]
    inherited = {key: value for key, value in os.environ.items() if not key.startswith("TENURE_")}
    settings = {
        key: value for key, value in wishes.settings.items() if key.startswith(f"TENURE_{name.upper()}_")
    }
    addresses = {key: environment[key] for key in wanted}
    return Child(
        name, [sys.executable, "-m", "tenure", name, "serve"], inherited | settings | addresses | dict(own)
    )


@asynccontextmanager
async def _running(child: Child, place: Place, wishes: Wishes, probe_port: int) -> AsyncIterator[None]:
    """Have the process for the block, ready when it begins; stopped at its end."""
    async with trio.open_nursery() as nursery:
        await nursery.start(partial(supervise, child, place, restart=wishes.restart))
        try:
            await _wait_ready(child.name, f"http://127.0.0.1:{probe_port}/readyz", place)
            yield
        finally:
            nursery.cancel_scope.cancel()


async def _wait_ready(name: str, url: str, place: Place) -> None:
    answer = "nothing"
    with trio.move_on_after(READY_S):
        async with httpx.AsyncClient(trust_env=False) as client:
            while True:
                with suppress(httpx.HTTPError):
                    response = await client.get(url)
                    if response.is_success:
                        return
                    answer = response.text
                await trio.sleep(POLL_S)
    raise Stop(
        f"{name} was not ready within {READY_S:g} s; it answered {answer}. Its log: {place.log(name)}",
        TEMPORARY,
    )


async def _operator_token(place: Place, addresses: Addresses) -> str:
    """The token of the stack's owner: kept in a file, made when there is none that the database knows."""
    if place.operator_token.exists():
        token = place.operator_token.read_text(encoding="utf-8").strip()
        if await is_known(addresses, token):
            return token
    token = await enrol_owner(addresses)
    write_private(place.operator_token, f"{token}\n")
    return token


def _free_ports(count: int) -> list[int]:
    """Ports that are free now; all are held until the last is found, so that they differ."""
    with ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]
