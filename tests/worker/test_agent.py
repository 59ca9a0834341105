"""An agent against a scripted ingress: what it does when everything works, and when answers do not come."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

import anyio
import pytest

from tests.harness.fake_ingress import FakeIngress, Hang, LoseAnswer, Refuse, Unavailable, open_fake_ingress
from tests.worker.running import journal_states, running_agent, wait_for

Scenario = Callable[[Path], Awaitable[None]]


async def a_command_runs_to_its_report(journal: Path) -> None:
    async with open_fake_ingress() as ingress:
        attempt = ingress.give(
            ["sh", "-c", "cat; echo $GREETING; echo oops >&2; exit 3"],
            stdin="hello ",
            env={"GREETING": "world"},
        )
        async with running_agent(ingress, journal) as agent:
            await ingress.wait_until(lambda: attempt.completion is not None)
            assert await agent.drain() == 0
        completion = attempt.completion
        assert completion is not None
        assert (completion.outcome, completion.exit_code) == ("failed", 3)
        assert b"hello world\\n" in bytes(completion.log)
        assert b"[stderr]\\noops" in bytes(completion.log)
        names = [call.name for call in ingress.calls if call.name not in ("renew", "offers", "running")]
        assert names == ["register", "starting", "complete", "drain", "offline"]
        assert journal_states(journal) == {}


async def a_child_that_ignores_term_is_killed(journal: Path) -> None:
    ready = journal.parent / "ready"
    async with open_fake_ingress() as ingress:
        attempt = ingress.give(
            ["sh", "-c", f"trap '' TERM; sleep 60 & touch {ready}; sleep 60"], kill_grace_s=0.2
        )
        async with running_agent(ingress, journal):
            await wait_for(ready.exists)
            ingress.stop(attempt)
            await ingress.wait_until(lambda: attempt.completion is not None)
        assert attempt.completion is not None
        assert (attempt.completion.stop_answer, attempt.completion.exit_code) == ("stopped", 137)


@pytest.mark.parametrize("backend", ["trio", "asyncio"])
@pytest.mark.parametrize("scenario", [a_command_runs_to_its_report, a_child_that_ignores_term_is_killed])
def test_both_event_loops(scenario: Scenario, backend: str, tmp_path: Path) -> None:
    anyio.run(scenario, tmp_path / "journal", backend=backend)


async def test_answers_that_are_lost_have_one_effect(tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    async with open_fake_ingress() as ingress:
        for name in ("register", "offers", "starting", "running", "complete"):
            ingress.fault(name, LoseAnswer(), Unavailable(), LoseAnswer())
        attempt = ingress.give(["sh", "-c", f"echo once >> {ran}; sleep 0.5"])
        async with running_agent(ingress, tmp_path / "journal"):
            await ingress.wait_until(lambda: attempt.completion is not None)
            await ingress.wait_call("complete", 3)
    assert ran.read_text() == "once\n"
    assert attempt.generation == 1


async def test_a_full_worker_takes_no_more_than_its_limit(tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    async with open_fake_ingress() as ingress:
        command = ["sh", "-c", f"until [ -e {gate} ]; do sleep 0.05; done"]
        attempts = [ingress.give(command) for _ in range(5)]
        async with running_agent(ingress, tmp_path / "journal", limit=2):
            await ingress.wait_call("running", 2)
            await ingress.wait_call("renew", 3)
            assert len(ingress.queue) == 3
            gate.touch()
            await ingress.wait_until(lambda: all(attempt.completion for attempt in attempts))
    assert all(len(call.body["leases"]) <= 2 for call in ingress.named("renew"))


async def test_an_idle_worker_asks_with_the_same_offers(tmp_path: Path) -> None:
    async with open_fake_ingress() as ingress:
        async with running_agent(ingress, tmp_path / "journal", limit=2):
            await ingress.wait_call("offers", 3)
        asked = {offer["offer"] for call in ingress.named("offers") for offer in call.body["offers"]}
    assert len(asked) == 2


async def test_renewals_go_on_while_a_completion_hangs(tmp_path: Path) -> None:
    async with open_fake_ingress() as ingress:
        release = anyio.Event()
        ingress.fault("complete", Hang(release))
        quick = ingress.give(["true"])
        slow = ingress.give(["sleep", "60"])
        async with running_agent(ingress, tmp_path / "journal"):
            await ingress.wait_call("complete")
            before = len(ingress.named("renew"))
            await ingress.wait_call("renew", before + 3)
            assert quick.completion is None
            release.set()
            await ingress.wait_until(lambda: quick.completion is not None)
            ingress.stop(slow)


async def test_deadline_is_enforced_by_the_worker(tmp_path: Path) -> None:
    async with open_fake_ingress() as ingress:
        attempt = ingress.give(["sleep", "60"], timeout_s=0.3)
        async with running_agent(ingress, tmp_path / "journal"):
            await ingress.wait_until(lambda: attempt.completion is not None)
    assert attempt.completion is not None
    assert attempt.completion.outcome == "failed"
    assert b"deadline_exceeded" in bytes(attempt.completion.error)


@pytest.mark.parametrize(
    ("argv", "cwd", "reason"),
    [
        (["no-such-program"], None, b"No such file"),
        (["/etc/passwd"], None, b"Permission denied"),
        (["true"], "/no/such/folder", b"working directory"),
        (["tr\0ue"], None, b"NUL"),
    ],
)
async def test_what_cannot_be_spawned_is_a_start_failure(
    argv: list[str], cwd: str | None, reason: bytes, tmp_path: Path
) -> None:
    async with open_fake_ingress() as ingress:
        attempt = ingress.give(argv, cwd=cwd)
        async with running_agent(ingress, tmp_path / "journal"):
            await ingress.wait_until(lambda: attempt.start_failure is not None)
    assert attempt.start_failure is not None
    assert reason in bytes(attempt.start_failure.error)
    assert not ingress.named("running")


async def test_what_this_agent_cannot_execute_is_declined(tmp_path: Path) -> None:
    async with open_fake_ingress() as ingress:
        ingress.give([], executor="handler", handler="resize")
        async with running_agent(ingress, tmp_path / "journal", limit=1):
            call = await ingress.wait_call("decline")
            ingress.queue.clear()
    assert call.body["reason"] == "declined"
    assert not ingress.named("starting")


async def test_a_task_may_want_its_command_stopped_on_lost_contact(tmp_path: Path) -> None:
    async with open_fake_ingress() as ingress:
        attempt = ingress.give(["sleep", "60"], stop_on_lost_contact_s=0.5)
        async with running_agent(ingress, tmp_path / "journal"):
            await ingress.wait_call("running")
            ingress.fault("renew", *[Unavailable() for _ in range(50)])
            await ingress.wait_until(lambda: attempt.completion is not None)
            ingress.clear_faults()
    assert attempt.completion is not None
    assert b"lost_contact" in bytes(attempt.completion.error)


async def test_a_lease_that_was_taken_away_ends_the_command(tmp_path: Path) -> None:
    async with open_fake_ingress() as ingress:
        attempt = ingress.give(["sleep", "60"])
        async with running_agent(ingress, tmp_path / "journal"):
            await ingress.wait_call("running")
            ingress.take_away(attempt)
            await ingress.wait_call("complete")
        assert attempt.completion is None
        assert journal_states(tmp_path / "journal") == {}


async def test_a_cancelled_attempt_is_settled_once(tmp_path: Path) -> None:
    async with open_fake_ingress() as ingress:
        attempt = ingress.give(["sleep", "60"])
        async with running_agent(ingress, tmp_path / "journal"):
            await ingress.wait_call("running")
            ingress.settle_elsewhere(attempt)
            await ingress.wait_call("complete")
        assert len(ingress.named("complete")) == 1


@pytest.mark.parametrize("code", ["stop_requested", "lease_fenced", "attempt_settled", "already_started"])
async def test_a_start_that_is_refused_starts_nothing(code: str, tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    journal = tmp_path / "journal"
    async with open_fake_ingress() as ingress:
        ingress.fault("starting", Refuse(code))
        ingress.give(["touch", str(ran)])
        second = ingress.give(["true"])
        async with running_agent(ingress, journal, limit=1):
            await ingress.wait_until(lambda: second.completion is not None)
    assert not ran.exists()
    assert bool(list((journal / "damaged").iterdir())) == (code == "already_started")


async def test_an_expired_lease_is_renewed_before_the_start(tmp_path: Path) -> None:
    async with open_fake_ingress() as ingress:
        ingress.advice = type(ingress.advice)(heartbeat_s=60.0, renew_s=60.0, lease_s=180.0)
        ingress.fault("starting", Refuse("lease_expired"))
        attempt = ingress.give(["true"])
        async with running_agent(ingress, tmp_path / "journal"):
            await ingress.wait_until(lambda: attempt.completion is not None)
        order = [call.name for call in ingress.calls if call.name in ("starting", "renew")]
        assert order == ["starting", "renew", "starting"]


@pytest.mark.parametrize("code", ["content_conflict", "attempt_settled", "unknown_attempt", "invalid_field"])
async def test_a_refused_report_never_blocks_the_worker(code: str, tmp_path: Path) -> None:
    async with open_fake_ingress() as ingress:
        ingress.fault("complete", Refuse(code))
        ingress.give(["true"])
        second = ingress.give(["true"])
        async with running_agent(ingress, tmp_path / "journal", limit=1):
            await ingress.wait_until(lambda: second.completion is not None)
    kept = list((tmp_path / "journal" / "damaged").iterdir())
    assert bool(kept) == (code == "invalid_field")


async def test_processes_left_behind_end_with_their_command(tmp_path: Path) -> None:
    beat = tmp_path / "beat"
    async with open_fake_ingress() as ingress:
        script = f"(trap '' HUP; while :; do date >> {beat}; sleep 0.02; done) & sleep 0.1"
        attempt = ingress.give(["sh", "-c", script], kill_grace_s=0.5)
        async with running_agent(ingress, tmp_path / "journal"):
            await ingress.wait_until(lambda: attempt.completion is not None)
            size = beat.stat().st_size
            await ingress.wait_call("offers", len(ingress.named("offers")) + 5)
            assert beat.stat().st_size == size
    assert attempt.completion is not None
    assert attempt.completion.outcome == "succeeded"


async def test_a_command_sees_its_facts_and_no_token(tmp_path: Path) -> None:
    async with open_fake_ingress() as ingress:
        script = 'env | grep -v "^PWD="; printf "%s" "$TENURE_INPUT" > "$TENURE_OUTPUT"'
        attempt = ingress.give(["sh", "-c", script], input={"rows": 3}, env={"WITH.DOT": "kept"})
        async with running_agent(ingress, tmp_path / "journal"):
            await ingress.wait_until(lambda: attempt.completion is not None)
    assert attempt.completion is not None
    assert bytes(attempt.completion.output) == b'{"rows":3}'
    assert b"tw1_" not in bytes(attempt.completion.log)
    assert f"TENURE_RUN={attempt.run}".encode() in bytes(attempt.completion.log)


def _completed(ingress: FakeIngress) -> int:
    return sum(attempt.completion is not None for attempt in ingress.attempts.values())


async def test_many_short_commands_all_complete_once(tmp_path: Path) -> None:
    async with open_fake_ingress() as ingress:
        for _ in range(20):
            ingress.give(["true"])
        async with running_agent(ingress, tmp_path / "journal", limit=4):
            await ingress.wait_until(lambda: _completed(ingress) == 20)
    assert len(ingress.named("complete")) == 20
