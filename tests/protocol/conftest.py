"""A seeded database, one ingress over it, and workers to script."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.harness import ScratchDatabase
from tests.harness.fake_worker import FakeWorker, open_fake_worker
from tests.harness.ingress import RunningIngress, open_ingress
from tests.harness.seed import Seed


@pytest.fixture
def seed(database: ScratchDatabase) -> Seed:
    """Seeds this test's database; the task `report` exists."""
    seed = Seed(database)
    seed.task("report")
    return seed


@pytest.fixture
async def ingress(database: ScratchDatabase) -> AsyncIterator[RunningIngress]:
    """A ready ingress."""
    async with open_ingress(database) as running:
        yield running


@pytest.fixture
async def worker(ingress: RunningIngress, seed: Seed) -> AsyncIterator[FakeWorker]:
    """A registered session of the worker `w1`."""
    async with open_fake_worker(ingress.url, seed.credential("w1")) as worker:
        await worker.register()
        yield worker


@pytest.fixture
async def other(ingress: RunningIngress, seed: Seed) -> AsyncIterator[FakeWorker]:
    """A registered session of another worker, `w2`."""
    async with open_fake_worker(ingress.url, seed.credential("w2")) as other:
        await other.register()
        yield other
