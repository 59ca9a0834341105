"""A world for machines to act on."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final

from tests.harness import ScratchDatabase
from tests.harness.control import stage_parts
from tests.harness.ingress import open_ingress
from tests.harness.seed import Seed
from tests.model.machine import TIMEOUT_S, WORKERS
from tests.model.state import Task
from tests.model.world import World

TASKS: Final[dict[str, tuple[dict[str, Any], Task]]] = {
    "plain": ({}, Task()),
    "tried": (
        {
            "timeout": f"{TIMEOUT_S}s",
            "retry": {
                "max_attempts": 3,
                "on": ["failed", "timed_out", "lost"],
                "safety": "idempotent",
                "backoff": {"base": "10s", "factor": 2, "cap": "5m"},
            },
            "exit_codes": {64: "fail", 75: "retry"},
        },
        Task(
            delays_s=(10, 20),
            retried=frozenset({"failed", "timed_out", "lost"}),
            timeout_s=TIMEOUT_S,
            exit_codes=((64, "fail"), (75, "retry")),
        ),
    ),
    "timed": ({"timeout": f"{TIMEOUT_S}s"}, Task(timeout_s=TIMEOUT_S)),
    "there": ({"placement": {"require": {"region": "eu"}}}, Task(region="eu")),
}


@asynccontextmanager
async def open_world(database: ScratchDatabase) -> AsyncIterator[World]:
    """An ingress, a replica of control, two workers and the tasks, for the block."""
    seed = Seed(database)
    for name, (definition, _) in TASKS.items():
        seed.task(name, **definition)
    tokens = {worker: seed.credential(worker) for worker in WORKERS}
    tasks = {name: task for name, (_, task) in TASKS.items()}
    async with open_ingress(database) as ingress, stage_parts(database) as parts:
        yield World(database, parts, ingress.url, tokens, tasks, seed)
