"""Two replicas of the ingress over one database, and a network that loses answers in front of the first."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Final

import httpx

from tenure_ingress.repository.call import QUERIES
from tests.harness import FaultProxy, ScratchDatabase, open_proxy
from tests.harness.fake_worker import PLAIN, TIMEOUT_S
from tests.harness.ingress import RunningIngress, open_ingress

GATED: Final = "tenure.workers, tenure.worker_sessions, tenure.runs, tenure.run_attempts, tenure.run_leases"
"""Whoever locks these tables makes every call wait that changes something."""


@dataclass(frozen=True)
class Site:
    """Where calls can be sent: to either replica, or to the first one through the proxy."""

    ingress: RunningIngress
    one: httpx.AsyncClient
    two: httpx.AsyncClient
    proxy: FaultProxy
    proxied: httpx.AsyncClient


@asynccontextmanager
async def open_site(database: ScratchDatabase) -> AsyncIterator[Site]:
    """Have both replicas for the block."""
    async with AsyncExitStack() as stack:
        ingress, other = [await stack.enter_async_context(open_ingress(database)) for _ in range(2)]
        proxy = await stack.enter_async_context(open_proxy(address_of(ingress)))
        assert isinstance(proxy.address, tuple)
        urls = (ingress.url, other.url, "http://{}:{}".format(*proxy.address))
        one, two, proxied = [await stack.enter_async_context(_client(url)) for url in urls]
        yield Site(ingress, one, two, proxy, proxied)


def address_of(ingress: RunningIngress) -> tuple[str, int]:
    """Host and port that it listens on."""
    url = httpx.URL(ingress.url)
    assert url.port is not None
    return url.host, url.port


def _client(url: str) -> httpx.AsyncClient:
    return httpx.AsyncClient(base_url=url, trust_env=False, timeout=TIMEOUT_S, verify=PLAIN)


async def wait_until_sent(
    database: ScratchDatabase, functions: Sequence[str], since: object, times: int
) -> None:
    """Wait until each of these statements was sent by so many connections of the ingress since then."""
    await database.wait_until(
        "count(*) >= $3 FROM pg_stat_activity WHERE datname = current_database()"
        " AND query = ANY ($1::text[]) AND query_start > $2",
        [QUERIES[function] for function in functions],
        since,
        times * len(functions),
    )
