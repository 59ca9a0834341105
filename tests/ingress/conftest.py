"""An ingress over a seeded database, and workers that talk to it."""

from __future__ import annotations

from tests.harness.fake_worker import FakeWorker, Work
from tests.harness.protocol import ingress, other, unregistered, worker
from tests.harness.seed import Seed

__all__ = ["ingress", "other", "unregistered", "worker"]


async def claim(seed: Seed, worker: FakeWorker) -> Work:
    """A new run, claimed."""
    seed.run("report")
    (work,) = await worker.pull()
    return work


async def started(seed: Seed, worker: FakeWorker) -> Work:
    """A new run, running."""
    work = await claim(seed, worker)
    await worker.start(work)
    return work
