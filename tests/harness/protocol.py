"""The fixtures of tests that speak the worker protocol; the `conftest.py` of a folder makes them known."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.harness.database import ScratchDatabase
from tests.harness.fake_worker import FakeWorker, open_fake_worker
from tests.harness.ingress import RunningIngress, open_ingress
from tests.harness.seed import Seed


@pytest.fixture
async def ingress(database: ScratchDatabase) -> AsyncIterator[RunningIngress]:
    """A ready ingress."""
    async with open_ingress(database) as running:
        yield running


@pytest.fixture
async def unregistered(ingress: RunningIngress, seed: Seed) -> AsyncIterator[FakeWorker]:
    """A session of the worker `w1` that has said nothing yet."""
    async with open_fake_worker(ingress.url, seed.credential("w1")) as worker:
        yield worker


@pytest.fixture
async def worker(unregistered: FakeWorker) -> FakeWorker:
    """A registered session of the worker `w1`."""
    await unregistered.register()
    return unregistered


@pytest.fixture
async def other(ingress: RunningIngress, seed: Seed) -> AsyncIterator[FakeWorker]:
    """A registered session of another worker, `w2`."""
    async with open_fake_worker(ingress.url, seed.credential("w2")) as other:
        await other.register()
        yield other
