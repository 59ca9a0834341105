"""The whole worker sequence from a shell with curl and jq, as the documentation shows it."""

from __future__ import annotations

import json
import os
import subprocess

import pytest
import trio

from tests.harness import ScratchDatabase
from tests.harness.ingress import RunningIngress
from tests.harness.seed import Seed
from tests.project.place import ROOT, tool


@pytest.fixture(autouse=True)
def tools() -> None:
    """What the script needs; see `tool` for what happens without."""
    for name in ("bash", "curl", "jq"):
        tool(name)


async def run_worker(ingress: RunningIngress, token: str) -> subprocess.CompletedProcess[bytes]:
    """Run the script against an ingress."""
    env = os.environ | {"TENURE_INGRESS_URL": ingress.url, "TENURE_WORKER_TOKEN": token}
    with trio.fail_after(30):
        return await trio.run_process(
            ["bash", str(ROOT / "docs" / "worker.sh")],
            env=env,
            capture_stdout=True,
            capture_stderr=True,
            check=False,
        )


async def test_one_run_is_taken_executed_and_reported(ingress: RunningIngress, seed: Seed) -> None:
    seed.task("greet", command=["sh", "-c", "echo hello $0", "{{ input.name }}"])
    run = seed.run("greet", {"name": "big world"})
    done = await run_worker(ingress, seed.credential("w1"))
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert (answer["status"], answer["run_status"]) == ("applied", "succeeded")
    assert seed.status(run) == ("succeeded", "succeeded")
    assert seed.events(run) == [
        "run.queued",
        "attempt.claimed",
        "run.dispatching",
        "attempt.starting",
        "attempt.running",
        "run.running",
        "attempt.succeeded",
        "run.succeeded",
    ]
    assert seed.database.value("SELECT output #>> '{}' FROM tenure.runs") == "hello big world\n"
    assert seed.database.value("SELECT status FROM tenure.worker_sessions") == "offline"


async def test_a_failing_command_is_reported_with_its_exit_code(ingress: RunningIngress, seed: Seed) -> None:
    seed.task("broken", command=["sh", "-c", "exit 7"])
    run = seed.run("broken")
    done = await run_worker(ingress, seed.credential("w1"))
    assert done.returncode == 0, done.stderr
    assert seed.status(run) == ("failed", "failed")
    assert seed.database.value("SELECT exit_code FROM tenure.run_attempts") == 7


async def test_nothing_to_do_and_a_refusal_have_exit_codes(
    ingress: RunningIngress, seed: Seed, database: ScratchDatabase
) -> None:
    assert (await run_worker(ingress, seed.credential("w1"))).returncode == 3
    refused = await run_worker(ingress, "tw1_nobody00_" + "A" * 43)
    assert refused.returncode == 1
    assert b"credential_refused" in refused.stderr
