"""schemathesis against an ingress: what there is for it to find, and one run of it."""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from subprocess import STDOUT
from typing import Any, Final

import trio

from tenure_ingress.openapi import document
from tests.harness.fake_worker import FakeWorker, Work, open_fake_worker
from tests.harness.ingress import RunningIngress
from tests.harness.seed import Seed

HOOKS: Final = Path(__file__).with_name("hooks.py")

CONFIGURATION: Final = f"""
hooks = "{HOOKS}"
generation = {{ database = "none", with-security-parameters = false }}

[checks]  # those of the hooks are sharper: they know which 400 and which 5xx may be
not_a_server_error.enabled = false
positive_data_acceptance.enabled = false
ignored_auth.enabled = false
"""

Seen = Counter[tuple[str, int, str | None]]


@dataclass
class Seeded:
    """Who may make which call (`*`: any other), and about which leases."""

    sessions: dict[str, list[dict[str, Any]]]
    leases: list[dict[str, Any]]


async def seed_life(seed: Seed, ingress: RunningIngress) -> Seeded:
    """A worker with leases that are claimed, starting and running, and others whose sessions may end."""
    seed.task("report")
    seed.runs("report", 64)
    async with open_fake_worker(ingress.url, seed.credential("busy")) as worker:
        await worker.register(limit=1024)
        leases = [
            await _advanced(worker, work, number % 3) for number, work in enumerate(await _claim(worker))
        ]
        others = [FakeWorker(worker.http, seed.credential(f"idle-{number}")) for number in range(30)]
        for other in others[:20]:
            await other.register()
    return Seeded(
        {
            "*": [_session(worker)],
            "offline": [_session(other) for other in others[:10]],
            "drain": [_session(other) for other in others[10:20]],
            "register": [_session(other) for other in others[20:]],
        },
        [work.fence for work in leases],
    )


async def converse(ingress: RunningIngress, seeded: Seeded, folder: Path, phases: str, seed: int = 1) -> Seen:
    """Run schemathesis with `phases`, a part of its configuration: which answers there were.

    Fails the test with its report, which has the seed, when an answer is not as documented.
    """
    description, configuration, seen = folder / "openapi.json", folder / "schemathesis.toml", folder / "seen"
    description.write_text(json.dumps(closed(document())))
    configuration.write_text(f"seed = {seed}\n{CONFIGURATION}{phases}")
    run = await trio.run_process(
        [
            *(sys.executable, "-m", "schemathesis.cli", "--config-file", str(configuration)),
            *("run", str(description), "--url", ingress.url, "--no-color", "--warnings", "off"),
        ],
        capture_stdout=True,
        stderr=STDOUT,
        check=False,
        cwd=folder,
        env={**os.environ, "TENURE_SEEDED": json.dumps(seeded.__dict__), "TENURE_SEEN": str(seen)},
    )
    assert run.returncode == 0, run.stdout.decode()
    return Counter(tuple(json.loads(line)) for line in seen.read_text().splitlines())


def closed(description: dict[str, Any]) -> dict[str, Any]:
    """The document without the room that answers leave for fields of later versions: here there are none."""
    for schema in description["components"]["schemas"].values():
        if "properties" in schema:
            schema["additionalProperties"] = False
    return description


async def _claim(worker: FakeWorker) -> list[Work]:
    return [work for _ in range(3) for work in await worker.pull(16)]


async def _advanced(worker: FakeWorker, work: Work, steps: int) -> Work:
    for step in (worker.starting, worker.running)[:steps]:
        await step(work)
    return work


def _session(worker: FakeWorker) -> dict[str, Any]:
    return {"token": worker.token, "session": worker.session, "generation": worker.generation}
