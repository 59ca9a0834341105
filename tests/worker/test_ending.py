"""How an agent goes: drain, second and third signal, takeover, and what it refuses to start with."""

from __future__ import annotations

from pathlib import Path

import anyio
import anyio.to_thread
import pytest

from tenure_contracts.wire.session import Advice
from tests.harness.fake_ingress import TOKEN, Hang, LoseAnswer, Refuse, Unavailable, open_fake_ingress
from tests.worker.running import journal_states, running_agent, start_process, wait_for


async def test_drain_finishes_what_runs_and_what_is_unreported(journal: Path, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    async with open_fake_ingress() as ingress:
        running = [ingress.give(["sh", "-c", f"until [ -e {gate} ]; do sleep 0.02; done"]) for _ in range(3)]
        ingress.fault("complete", *[Unavailable() for _ in range(6)])
        unreported = [ingress.give(["true"]) for _ in range(2)]
        async with running_agent(ingress, journal, limit=5) as agent:
            await ingress.wait_call("running", 3)
            await ingress.wait_call("complete", 2)
            await agent.signal()
            await ingress.wait_call("drain")
            gate.touch()
            assert await agent.wait() == 0
    assert all(attempt.completion for attempt in running + unreported)
    assert ingress.calls[-1].name == "offline"
    assert journal_states(journal) == {}


@pytest.mark.parametrize("told_by", ["offers", "renew", "heartbeat"])
async def test_a_drain_that_an_operator_asks_for_has_no_budget(
    journal: Path, tmp_path: Path, told_by: str
) -> None:
    gate = tmp_path / "gate"
    async with open_fake_ingress() as ingress:
        ingress.advice = Advice(heartbeat_s=0.05, renew_s=0.05, lease_s=30.0)
        attempt = ingress.give(["sh", "-c", f"until [ -e {gate} ]; do sleep 0.02; done"])
        async with running_agent(ingress, journal, limit=2, drain_budget_s=0.0) as agent:
            await ingress.wait_call("running")
            ingress.draining = frozenset({told_by})
            await ingress.wait_call("drain")
            later = ingress.give(["true"])
            gate.touch()
            assert await agent.wait() == 0
    assert attempt.completion
    assert later.generation == 0
    assert ingress.calls[-1].name == "offline"


async def test_a_pull_in_flight_is_asked_again_and_given_back_before_drain(journal: Path) -> None:
    async with open_fake_ingress() as ingress:
        never = anyio.Event()
        async with running_agent(ingress, journal, limit=1) as agent:
            await ingress.wait_call("offers")
            ingress.fault("offers", LoseAnswer(), Hang(never))
            ingress.retry_after_s = 0.0
            attempt = ingress.give(["true"])
            await ingress.wait_until(lambda: attempt.generation == 1)
            await ingress.wait_call("offers", len(ingress.named("offers")) + 1)
            assert await agent.drain() == 0
    names = [call.name for call in ingress.calls if call.name not in ("renew", "heartbeat")]
    assert names[-4:] == ["offers", "decline", "drain", "offline"]
    assert ingress.named("decline")[0].body["reason"] == "shutdown"
    assert ingress.named("offers")[-1].body["wait_s"] == 0
    assert attempt.status == "claimed"
    assert journal_states(journal) == {}


async def test_a_real_process_drains_on_sigterm(journal: Path) -> None:
    async with open_fake_ingress() as ingress:
        process = start_process(ingress, journal)
        await ingress.wait_call("offers")
        process.terminate()
        assert await anyio.to_thread.run_sync(process.wait) == 0
    assert ingress.calls[-1].name == "offline"


async def test_a_second_signal_stops_and_reports(journal: Path) -> None:
    async with open_fake_ingress() as ingress:
        attempt = ingress.give(["sleep", "60"], kill_grace_s=1.0)
        async with running_agent(ingress, journal) as agent:
            await ingress.wait_call("running")
            await agent.signal()
            await ingress.wait_call("drain")
            await agent.signal()
            assert await agent.wait() == 0
    assert attempt.completion is not None
    assert b"worker_stopping" in bytes(attempt.completion.error)


async def test_a_third_signal_leaves_at_once_and_the_next_process_knows(
    journal: Path, tmp_path: Path
) -> None:
    gate, ready = tmp_path / "gate", tmp_path / "ready"
    script = f"trap '' TERM; touch {ready}; until [ -e {gate} ]; do sleep 0.02; done"
    async with open_fake_ingress() as ingress:
        attempt = ingress.give(["sh", "-c", script], kill_grace_s=60.0)
        async with running_agent(ingress, journal) as agent:
            await wait_for(ready.exists)
            for _ in range(3):
                await agent.signal()
            assert await agent.wait() == 1
        gate.touch()
        async with running_agent(ingress, journal):
            await ingress.wait_until(lambda: attempt.completion is not None)
    assert attempt.completion is not None
    assert attempt.completion.outcome == "succeeded"


@pytest.mark.parametrize(("survivors", "code", "is_reported"), [("adopt", 1, False), ("stop", 0, True)])
async def test_the_budget_ends(survivors: str, code: int, is_reported: bool, journal: Path) -> None:
    async with open_fake_ingress() as ingress:
        attempt = ingress.give(["sleep", "1"])
        async with running_agent(ingress, journal, survivors=survivors, drain_budget_s=0.2) as agent:
            await ingress.wait_call("running")
            assert await agent.drain() == code
    assert (attempt.completion is not None) == is_reported
    assert bool(journal_states(journal)) != is_reported


async def test_a_session_that_was_taken_over_ends_with_75(journal: Path) -> None:
    async with open_fake_ingress() as ingress:
        ingress.give(["sleep", "1"])
        async with running_agent(ingress, journal) as agent:
            await ingress.wait_call("running")
            ingress.fence_session()
            assert await agent.wait() == 75
    assert len(ingress.named("register")) == 1
    assert not ingress.named("offline")


async def test_a_live_session_is_waited_out_without_takeover(journal: Path, tmp_path: Path) -> None:
    async with open_fake_ingress() as ingress, running_agent(ingress, tmp_path / "first"):
        await ingress.wait_call("offers")
        async with running_agent(ingress, journal):
            await ingress.wait_call("register", 3)
            ingress.is_offline = True
            await ingress.wait_until(lambda: ingress.generation == 2)
            await ingress.wait_until(lambda: ingress.calls[-1].name == "offers")
    assert not any(call.body["takeover"] for call in ingress.named("register"))


async def test_a_session_that_ended_before_the_drain_is_temporary_and_its_offers_stay(journal: Path) -> None:
    async with open_fake_ingress() as ingress:
        ingress.fault("offers", Hang(anyio.Event()), Refuse("session_fenced"))
        async with running_agent(ingress, journal, limit=1) as agent:
            await ingress.wait_call("offers")
            assert await agent.drain() == 75
    assert list(journal_states(journal).values()) == ["offered"]


async def test_a_signal_while_registering_is_obeyed(journal: Path) -> None:
    async with open_fake_ingress() as ingress:
        ingress.fault("register", Hang(anyio.Event()))
        async with running_agent(ingress, journal) as agent:
            await ingress.wait_call("register")
            assert await agent.drain() == 0


async def test_a_refused_credential_is_78(journal: Path) -> None:
    other = "tw1_otherworker_" + "A" * 43
    async with open_fake_ingress() as ingress, running_agent(ingress, journal, token=other) as agent:
        assert await agent.wait() == 78


async def test_a_credential_of_another_worker_is_78(journal: Path) -> None:
    async with open_fake_ingress() as ingress:
        ingress.worker = "w2"
        async with running_agent(ingress, journal) as agent:
            assert await agent.wait() == 78


async def test_a_journal_in_use_is_75(journal: Path) -> None:
    async with open_fake_ingress() as ingress, running_agent(ingress, journal):
        await ingress.wait_call("register")
        async with running_agent(ingress, journal) as second:
            assert await second.wait() == 75


async def test_a_new_credential_file_is_read_while_running(journal: Path, tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text(TOKEN)
    file.chmod(0o600)
    async with open_fake_ingress() as ingress:
        ingress.advice = Advice(heartbeat_s=0.05, renew_s=0.1, lease_s=1.0)
        async with running_agent(ingress, journal, token=None, credential_file=file):
            await ingress.wait_call("heartbeat", 2)
            file.write_text("tw1_otherworker_" + "A" * 43)
            await ingress.wait_until(lambda: ingress.refused_credentials > 2)
            file.write_text(TOKEN + "\n")
            await ingress.wait_call("heartbeat", len(ingress.named("heartbeat")) + 2)
