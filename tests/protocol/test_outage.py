"""An outage of 60 s with 200 leases of 30 s: afterwards all are renewed, and nothing was taken or stopped.

In the suite the 60 s pass in the database's time, so that the leases expire while nobody can renew them; the
slow test waits for them in real time, with a server that is really stopped.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import pytest
import trio

from tenure_worker import client
from tests.harness import FaultProxy, ScratchDatabase, open_proxy
from tests.harness.blocking import BlockingConnection
from tests.harness.control import RunningControl, open_control
from tests.harness.fixture import temporary_server
from tests.harness.ingress import open_ingress
from tests.harness.template import Templates, prepare_template
from tests.protocol.facts import check_events, counted
from tests.protocol.fleet import LEASES, RENEWED, open_fleet
from tests.protocol.site import address_of

OUTAGE_S: Final = 60
QUICK: Final[dict[str, Any]] = {"lease_s": 30.0, "renew_s": 0.3, "heartbeat_s": 0.5}
"""Leases as they are; renewals as often as a test wants to wait for them."""

Outage = Callable[[FaultProxy, FaultProxy], AbstractAsyncContextManager[None]]


@pytest.fixture
def quick_backoff(monkeypatch: pytest.MonkeyPatch) -> None:
    """The agent repeats soon: how long its pauses are is tested on its own."""
    monkeypatch.setattr(client, "BACKOFF_BASE_S", 0.02)
    monkeypatch.setattr(client, "BACKOFF_CAP_S", 0.2)


@asynccontextmanager
async def no_ingress(http: FaultProxy, sql: FaultProxy) -> AsyncIterator[None]:
    """Connections to the ingress break, and none is accepted."""
    http.cut()
    http.refuse()
    yield
    http.forward()


@asynccontextmanager
async def no_database(http: FaultProxy, sql: FaultProxy) -> AsyncIterator[None]:
    """The ingress lives, and its connections to the database break."""
    sql.cut()
    sql.refuse()
    yield
    sql.forward()


OUTAGES: Final[tuple[Outage, ...]] = (no_ingress, no_database)
"""Those of the suite; the partition lasts a minute in the slow test."""


@pytest.mark.usefixtures("quick_backoff")
async def test_a_fleet_goes_on_after_an_outage_of_two_leases(
    database: ScratchDatabase, tmp_path: Path
) -> None:
    async with (
        open_control(database) as control,
        open_proxy(database.server.socket_path) as sql,
        open_ingress(database, database_url=sql.dsn(database.dsn("tenure_ingress")), **QUICK) as ingress,
        open_proxy(address_of(ingress)) as http,
        open_fleet(database, _url(http), tmp_path, processes=4, pause_s=0.5, timeout_s=10.0) as fleet,
    ):
        before = counted(database)
        running = fleet.alive()
        for outage in OUTAGES:
            async with outage(http, sql):
                database.shift(timedelta(seconds=OUTAGE_S))
                await fleet.wait_until_all_failed()
                await nothing_is_taken(control, database)
            await everything_is_renewed(database)
        await nothing_is_taken(control, database)
        assert len(running) == 4
        assert fleet.alive() == running
        assert {told for each in fleet.scripted for told in each.told} == {("renewed", None)}
        added = counted(database) - before
        assert added.keys() == {"lease version"}, "renewals, and nothing but renewals"
        await fleet.end(database)
    check_events(database)


def _url(proxy: FaultProxy) -> str:
    assert isinstance(proxy.address, tuple)
    return "http://{}:{}".format(*proxy.address)


async def nothing_is_taken(control: RunningControl, database: ScratchDatabase) -> None:
    """Control looks at everything that expired, and may take none of it away."""
    await control.cycle()
    kept = database.value("SELECT count(*) FROM tenure.run_leases WHERE state = 'leased' AND generation = 1")
    assert kept == LEASES


async def everything_is_renewed(database: ScratchDatabase, within_s: float = 10) -> None:
    """Every lease is renewed from now on, by its holder."""
    now = database.value("SELECT tenure.clock()")
    await database.wait_until(RENEWED, LEASES, now, within_s=within_s)


@pytest.mark.slow
@pytest.mark.timeout(400)
async def test_a_stopped_database_and_a_partition_of_a_minute_each(tmp_path: Path) -> None:
    with temporary_server(durable=True) as server:
        with BlockingConnection(server.dsn()) as admin:
            Templates(server, admin).copy(prepare_template, "outage")
        database = ScratchDatabase(server, "outage")
        async with (
            open_control(database, interval_s=2.0) as control,
            open_ingress(database) as ingress,
            open_proxy(address_of(ingress)) as http,
            open_fleet(database, _url(http), tmp_path, processes=16, pause_s=10.0, timeout_s=10.0) as fleet,
        ):
            before, running = counted(database), fleet.alive()
            database.close()
            await trio.to_thread.run_sync(server.stop)
            await trio.sleep(OUTAGE_S)
            await trio.to_thread.run_sync(server.start)
            database = ScratchDatabase(server, "outage")
            await everything_is_renewed(database, within_s=45)
            await control.wait_status("ready", within_s=30)
            http.stall()
            await trio.sleep(OUTAGE_S)
            http.forward()
            await everything_is_renewed(database, within_s=45)
            await nothing_is_taken(control, database)
            assert (len(running), fleet.alive()) == (16, running)
            assert {told for each in fleet.scripted for told in each.told} == {("renewed", None)}
            assert (counted(database) - before).keys() == {"lease version"}
            await fleet.end(database)
        check_events(database)
        database.close()
