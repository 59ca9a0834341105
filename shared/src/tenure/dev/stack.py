"""The stack in the foreground: what starts first stops last."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial

import httpx
import trio

from tenure import output
from tenure.dev.database import (
    NAME,
    Addresses,
    create_database,
    enrol_owner,
    is_known,
    prepare_database,
    wanted_server,
)
from tenure.dev.place import Place, write_private
from tenure.dev.process import Child, end_orphan, supervise
from tenure.embedded import EmbeddedServer, EmbeddedServerError
from tenure.exit import Stop
from tenure.where import ENV_FILE, format_env
from tenure_control.migration import HistoryError
from tenure_postgres.error import Busy, DatabaseError, Unavailable
from tenure_process.exit import ExitCode

READY_S = 60.0
POLL_S = 0.05
WATCH_S = 0.2
PORTS = 3
READ_ONLY = "25006"


@dataclass(frozen=True)
class Wishes:
    """What the caller wants of a stack.

    Attributes:
        restart: start a process again that ended.
        database_url: an administrator's address of a server to use instead of the embedded one.
        settings: further `TENURE_…` settings for the processes.
    """

    restart: bool = True
    database_url: str | None = field(default=None, repr=False)
    settings: Mapping[str, str] = field(default_factory=dict)


async def run(
    place: Place, wishes: Wishes, *, task_status: trio.TaskStatus[dict[str, str]] = trio.TASK_STATUS_IGNORED
) -> None:
    """Run PostgreSQL, control and ingress until cancelled, then stop ingress, control and PostgreSQL.

    `started()` gets the content of the env file, once everything is ready. Raises Stop with one sentence when
    something does not come up; what was started is stopped again.
    """
    for name in ("ingress", "control"):
        await end_orphan(name, _serve(name), place)
    async with _database(place, wishes) as addresses, _processes(place, wishes, addresses) as environment:
        write_private(place.env, format_env(environment))
        try:
            task_status.started(environment)
            await trio.sleep_forever()
        finally:
            place.env.unlink(missing_ok=True)


@asynccontextmanager
async def _database(place: Place, wishes: Wishes) -> AsyncIterator[Addresses]:
    embedded = EmbeddedServer(place.postgres)
    own = wanted_server(wishes.database_url, embedded)
    if own is not None:
        addresses = Addresses(own)
        await _prepare(addresses, "the server of TENURE_DATABASE_URL (unset it for an embedded one)")
        yield addresses
        return
    async with _embedded(embedded, restart=wishes.restart):
        addresses = Addresses(embedded.dsn(database=NAME))
        await _prepare(addresses, "the embedded server", embedded.dsn())
        yield addresses


@asynccontextmanager
async def _embedded(server: EmbeddedServer, *, restart: bool) -> AsyncIterator[None]:
    """Have the server for the block; started again when it was killed, unless `restart` is False."""
    try:
        await trio.to_thread.run_sync(server.start)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_keep_up, server, restart)
            yield
            nursery.cancel_scope.cancel()
    except EmbeddedServerError as error:
        raise Stop(str(error), ExitCode.CONFIGURATION) from error
    finally:
        with trio.CancelScope(shield=True):
            await trio.to_thread.run_sync(server.stop)


async def _keep_up(server: EmbeddedServer, restart: bool) -> None:
    while True:
        await trio.sleep(WATCH_S)
        if server.running:
            continue
        output.complain(f"PostgreSQL ended; its log is {server.place.log}")
        if not restart:
            return
        try:
            await trio.to_thread.run_sync(server.start)
        except EmbeddedServerError as error:
            output.complain(str(error))


async def _prepare(addresses: Addresses, server: str, administrator: str | None = None) -> None:
    """Make database, roles and tables; `administrator` is the address to make a missing database from."""
    try:
        if administrator is not None:
            await create_database(administrator)
        await prepare_database(addresses)
    except HistoryError as error:
        begin_anew = (
            "" if administrator is None else f" (or begin anew without its data: rm -rf {ENV_FILE.parent})"
        )
        raise Stop(f"{server}: {error}{begin_anew}", ExitCode.CONFIGURATION) from error
    except DatabaseError as error:
        may_pass = isinstance(error, Unavailable | Busy) and error.sqlstate != READ_ONLY
        code = ExitCode.TEMPORARY if may_pass else ExitCode.CONFIGURATION
        raise Stop(f"{server}: {error}", code) from error


@asynccontextmanager
async def _processes(place: Place, wishes: Wishes, addresses: Addresses) -> AsyncIterator[dict[str, str]]:
    control, ingress, probe = _ports(place)
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
    return Child(name, _serve(name), inherited | settings | addresses | dict(own))


def _serve(name: str) -> list[str]:
    return [sys.executable, "-m", "tenure", name, "serve"]


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
        ExitCode.TEMPORARY,
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


def _ports(place: Place) -> list[int]:
    """Those of the last start while they are free, so that what a shell or a worker was told stays true."""
    kept = place.ports.read_text(encoding="utf-8").split() if place.ports.exists() else []
    try:
        ports = _bound(list(map(int, kept)))
    except (ValueError, OverflowError, OSError):
        ports = []
    if len(ports) != PORTS:
        ports = _bound([0] * PORTS)
        write_private(place.ports, " ".join(map(str, ports)))
    return ports


def _bound(wanted: Sequence[int]) -> list[int]:
    """Ports that are free now, 0 for any; all are held until the last is found, so that they differ.

    Raises OSError when one is taken.
    """
    with ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in wanted]
        for each, port in zip(sockets, wanted, strict=True):
            # As the processes bind it: what is left of connections of the last start is not in the way.
            each.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            each.bind(("127.0.0.1", port))
        return [each.getsockname()[1] for each in sockets]
