"""`tenure worker` against a control: what operators do with workers and their credentials."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from typing import Any
from uuid import uuid4

import pytest
import trio
from click.testing import CliRunner, Result

from tenure.__main__ import root
from tenure.exit import Stop
from tenure_control.operator import enrol_operator
from tenure_process.exit import ExitCode
from tests.harness import ScratchDatabase
from tests.harness.control import open_control
from tests.harness.fake_worker import FakeWorker, open_fake_worker, refused
from tests.harness.ingress import RunningIngress, open_ingress


class Cli:
    """The command line, as the owner of a control."""

    def __init__(self, url: str, token: str) -> None:
        self._environment = {"TENURE_CONTROL_URL": url, "TENURE_OPERATOR_TOKEN": token}

    async def run(self, *words: str) -> Result:
        """`tenure worker` with these words."""
        invoke = lambda: CliRunner().invoke(root, ["worker", *words], env=self._environment)  # noqa: E731
        return await trio.to_thread.run_sync(invoke)

    async def say(self, *words: str) -> str:
        """What a command prints that must succeed."""
        done = await self.run(*words)
        assert done.exception is None, done.exception
        return done.stdout.strip()

    async def json(self, *words: str) -> Any:
        """What it prints with `--json`."""
        return json.loads(await self.say(*words, "--json"))

    async def stop(self, *words: str) -> Stop:
        """What it stops with."""
        done = await self.run(*words)
        assert isinstance(done.exception, Stop), done.output
        assert done.stdout == ""
        return done.exception


@pytest.fixture
async def tenure(database: ScratchDatabase) -> AsyncIterator[Cli]:
    """The command line, with a control to speak to."""
    async with database.open("tenure_migrate", size=1) as opened:
        token = await enrol_operator(opened, "root")
    async with open_control(database) as control:
        yield Cli(control.url, token)


@pytest.fixture
async def replicas(database: ScratchDatabase, tenure: Cli) -> AsyncIterator[Sequence[RunningIngress]]:
    """Two ingresses over the database of the control, after it: both capture what the process logs."""
    async with open_ingress(database) as one, open_ingress(database) as two:
        yield one, two


async def heartbeat(ingress: RunningIngress, worker: FakeWorker, token: str) -> None:
    """One call of a worker's session at this replica, with this token."""
    async with open_fake_worker(ingress.url, token) as other:
        other.session, other.generation = worker.session, worker.generation
        await other.heartbeat()


async def test_a_rotation_ends_the_older_token_everywhere_at_once(
    tenure: Cli, replicas: Sequence[RunningIngress]
) -> None:
    older = await tenure.say("enroll", "w1")
    async with open_fake_worker(replicas[0].url, older) as worker:
        await worker.register()
        newer = await tenure.say("credential", "rotate", "w1")
        for replica in replicas:
            with refused("credential_refused"):
                await heartbeat(replica, worker, older)
            await heartbeat(replica, worker, newer)


async def test_a_revocation_ends_a_token_everywhere_at_once(
    tenure: Cli, replicas: Sequence[RunningIngress]
) -> None:
    token = await tenure.say("enroll", "w1")
    async with open_fake_worker(replicas[0].url, token) as worker:
        await worker.register()
        await heartbeat(replicas[1], worker, token)
        assert "revoked" in await tenure.say("credential", "revoke", "w1")
        for replica in replicas:
            with refused("credential_refused"):
                await heartbeat(replica, worker, token)


async def test_a_token_is_shown_once_and_a_replay_says_so(tenure: Cli) -> None:
    for words in (("enroll", "w1"), ("credential", "rotate", "w1")):
        repeated = ("--request-id", str(uuid4()))
        token = await tenure.say(*words, *repeated)
        assert token.startswith("tw1_")
        stop = await tenure.stop(*words, *repeated)
        assert "carried out before" in str(stop)
        assert stop.code == ExitCode.FAILED
        answer = await tenure.json(*words, *repeated)
        assert (answer["replayed"], "token" in answer) == (True, False)


async def test_credentials_are_listed_and_chosen(tenure: Cli) -> None:
    first = (await tenure.json("enroll", "w1"))["credential"]
    second = (await tenure.json("enroll", "w1"))["credential"]
    listed = (await tenure.json("credential", "list", "w1"))["items"]
    assert {item["credential"] for item in listed} == {first, second}
    assert first in await tenure.say("credential", "list", "w1")
    for verb in ("rotate", "revoke"):
        stop = await tenure.stop("credential", verb, "w1")
        assert first in str(stop)
        assert second in str(stop)
        assert stop.code == ExitCode.USAGE
    assert (await tenure.json("credential", "revoke", "w1", first))["state"] == "revoked"
    assert (await tenure.json("credential", "rotate", "w1"))["credential"] == second
    await tenure.say("credential", "revoke", "w1")
    assert "no active credential" in str(await tenure.stop("credential", "revoke", "w1"))


async def test_a_worker_is_shown_with_its_sessions_and_drained(
    tenure: Cli, replicas: Sequence[RunningIngress]
) -> None:
    token = await tenure.say("enroll", "w1")
    assert "never seen" in await tenure.say("show", "w1")
    async with open_fake_worker(replicas[0].url, token) as worker:
        await worker.register(labels={"region": "eu"})
        await worker.offline()
        newer = worker.another()
        await newer.register()
        assert not (await newer.heartbeat())["drain_requested"]
        shown = await tenure.say("drain", "w1")
        assert (await newer.heartbeat())["drain_requested"]
    for text in (shown, await tenure.say("show", "w1")):
        *_, header, current, older = text.splitlines()
        assert header.split()[:3] == ["generation", "session", "status"]
        assert current.split()[:3] == ["2", newer.session, "online"]
        assert older.split()[:3] == ["1", worker.session, "replaced"]
        assert newer.session in older
        assert older.endswith("region=eu")
    (item,) = (await tenure.json("list"))["items"]
    assert item["session"]["session"] == newer.session
