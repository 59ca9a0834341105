"""A killed agent and the next one on its journal: nothing runs twice, nothing is said that is not true."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from uuid import uuid4

import anyio
import pytest

from tenure_contracts.wire.session import Advice
from tenure_worker.journal import Lease, Record, open_journal
from tenure_worker.launcher import Command, prepare, receipt
from tenure_worker.machine import identify, machine_id
from tests.harness.fake_ingress import FakeAttempt, FakeIngress, Hang, open_fake_ingress
from tests.worker.running import INHERITED, journal_states, kill, running_agent, start_process, wait_for

MACHINE = machine_id() or "test-machine"
TOKEN = "A" * 43


async def _kill_at(ingress: FakeIngress, journal: Path, call: str) -> None:
    """Run an agent as a process, and kill it while the ingress keeps it waiting for the answer to a call."""
    ingress.fault(call, Hang(anyio.Event()))
    process = start_process(ingress, journal)
    try:
        await ingress.wait_call(call)
    finally:
        kill(process)


async def test_killed_during_the_pull_takes_the_same_offer_up_again(journal: Path) -> None:
    async with open_fake_ingress() as ingress:
        await _kill_at(ingress, journal, "offers")
        asked = {offer["offer"] for offer in ingress.named("offers")[0].body["offers"]}
        assert set(journal_states(journal).values()) == {"offered"}
        attempt = ingress.give(["true"])
        async with running_agent(ingress, journal):
            await ingress.wait_until(lambda: attempt.completion is not None)
        again = {offer["offer"] for offer in ingress.named("offers")[1].body["offers"]}
    assert again == asked
    assert ingress.named("register")[1].body["takeover"] is True


async def test_killed_at_the_start_barrier_is_completed_as_not_spawned(journal: Path, tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    async with open_fake_ingress() as ingress:
        attempt = ingress.give(["touch", str(ran)])
        await _kill_at(ingress, journal, "starting")
        attempt.status = "starting"  # the request had its effect, the answer never came
        async with running_agent(ingress, journal):
            await ingress.wait_until(lambda: attempt.completion is not None)
    assert attempt.completion is not None
    assert b"not_spawned" in bytes(attempt.completion.error)
    assert not ran.exists()


@pytest.mark.parametrize("has_ended", [True, False], ids=["ended while away", "survived"])
async def test_killed_while_running_reports_the_real_exit_code(
    has_ended: bool, journal: Path, tmp_path: Path
) -> None:
    gate, runs = tmp_path / "gate", tmp_path / "runs"
    script = f"echo >> {runs}; until [ -e {gate} ]; do sleep 0.02; done; echo bye; exit 7"
    async with open_fake_ingress() as ingress:
        attempt = ingress.give(["sh", "-c", script])
        await _kill_at(ingress, journal, "running")
        if has_ended:
            gate.touch()
            await wait_for(lambda: b"exit" in _receipt(journal).read_bytes())
        async with running_agent(ingress, journal):
            if not has_ended:
                await ingress.wait_call("offers", 3)
                assert not ingress.named("complete")
                gate.touch()
            await ingress.wait_until(lambda: attempt.completion is not None)
    assert attempt.completion is not None
    assert attempt.completion.exit_code == 7
    assert b"bye" in bytes(attempt.completion.log)
    assert runs.read_text() == "\n"
    assert journal_states(journal) == {}


async def test_killed_before_the_report_was_stored_says_the_same_again(journal: Path) -> None:
    async with open_fake_ingress() as ingress:
        attempt = ingress.give(["sh", "-c", "echo once; exit 5"])
        await _kill_at(ingress, journal, "complete")
        assert "finished" in journal_states(journal).values()
        async with running_agent(ingress, journal):
            await ingress.wait_until(lambda: attempt.completion is not None)
        first, second = (dict(call.body) for call in ingress.named("complete"))
    for body in (first, second):
        del body["request_id"], body["generation"]
    assert first == second


async def test_a_survivor_occupies_a_slot(journal: Path, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    async with open_fake_ingress() as ingress:
        attempt = ingress.give(["sh", "-c", f"until [ -e {gate} ]; do sleep 0.02; done"])
        await _kill_at(ingress, journal, "running")
        second = ingress.give(["true"])
        ingress.advice = Advice(heartbeat_s=0.05, renew_s=0.2, lease_s=30.0)
        async with running_agent(ingress, journal, limit=1):
            await ingress.wait_call("heartbeat", 3)
            assert ingress.session not in {call.session for call in ingress.named("offers")}
            gate.touch()
            await ingress.wait_until(lambda: bool(attempt.completion and second.completion))


@pytest.mark.parametrize("was_told_to_go", [True, False])
async def test_killed_between_launcher_and_report(
    was_told_to_go: bool, journal: Path, tmp_path: Path
) -> None:
    """A launcher whose agent is gone: told to go it tells the end, not told it has started nothing."""
    ran = tmp_path / "ran"
    async with open_fake_ingress() as ingress:
        attempt = await _orphan(ingress, journal, ["touch", str(ran)], go=was_told_to_go)
        async with running_agent(ingress, journal):
            await ingress.wait_until(lambda: attempt.completion is not None)
    assert attempt.completion is not None
    assert ran.exists() == was_told_to_go
    assert attempt.completion.outcome == ("succeeded" if was_told_to_go else "failed")


async def test_a_launcher_that_was_killed_proves_nothing(journal: Path) -> None:
    async with open_fake_ingress() as ingress:
        await _orphan(ingress, journal, ["sleep", "0.2"], go=True, kill_launcher=True)
        async with running_agent(ingress, journal):
            await ingress.wait_call("offers", 3)
        assert not ingress.named("complete")
    assert "launching" in journal_states(journal).values()


async def test_a_journal_of_another_machine_concludes_nothing_from_absence(journal: Path) -> None:
    async with open_fake_ingress() as ingress:
        await _orphan(ingress, journal, ["true"], go=False)
        async with running_agent(ingress, journal, machine="another-machine"):
            await ingress.wait_call("offers", 3)
        assert not ingress.named("complete")
    assert ingress.named("register")[0].body["takeover"] is False
    assert "launching" in journal_states(journal).values()


@pytest.mark.parametrize("content", [b"started\n", b"exit soon\n", b"\xff\xff\n"])
async def test_a_damaged_receipt_says_nothing_and_costs_itself_alone(content: bytes, journal: Path) -> None:
    async with open_fake_ingress() as ingress:
        await _orphan(ingress, journal, ["true"], go=False)
        path = _receipt(journal)
        await wait_for(lambda: not receipt.is_held(path))
        path.write_bytes(content)
        second = ingress.give(["true"])
        async with running_agent(ingress, journal):
            await ingress.wait_until(lambda: second.completion is not None)
    assert len(ingress.named("complete")) == 1
    assert list(journal_states(journal).values()) == ["launching"]


async def test_one_damaged_record_costs_itself_alone(journal: Path) -> None:
    async with open_fake_ingress() as ingress:
        attempt = await _orphan(ingress, journal, ["true"], go=True)
        (journal / "offers" / f"{uuid4()}.json").write_bytes(b'{"state": "runn')
        (journal / "offers" / f"{uuid4()}.json").write_bytes(b"\xff\x00")
        async with running_agent(ingress, journal):
            await ingress.wait_until(lambda: attempt.completion is not None)
    assert len(list((journal / "damaged").iterdir())) == 2


def _receipt(journal: Path) -> Path:
    return next(journal.glob("attempts/*/receipt"))


async def _orphan(
    ingress: FakeIngress, journal: Path, argv: list[str], *, go: bool, kill_launcher: bool = False
) -> FakeAttempt:
    """What an agent leaves that dies after its record says `launching`."""
    attempt = ingress.give(argv)
    ingress.queue.clear()
    attempt.status, attempt.generation, attempt.version, attempt.token = "starting", 1, 1, TOKEN
    lease = Lease(attempt=attempt.attempt, lease_generation=1, lease_version=1)
    offer = uuid4()
    with open_journal(journal, worker="w1", machine=MACHINE) as opened:
        command = Command(argv=tuple(argv), env=INHERITED, cwd="/")
        launcher = prepare(opened.attempt_folder(offer), command)
        identity = identify(launcher.pid, MACHINE)
        opened.write(Record(state="launching", offer=offer, token=TOKEN, lease=lease, launcher=identity))
    if go:
        launcher.go()
    if kill_launcher:
        await launcher.wait_started()
        os.kill(launcher.pid, signal.SIGKILL)
    launcher.close()
    return attempt
