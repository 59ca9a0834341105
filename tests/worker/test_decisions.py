"""What is concluded from a receipt, and from what an older process left: pure decisions, as tables."""

from __future__ import annotations

from datetime import UTC, datetime

import anyio
import pytest

from tenure_contracts.wire.field import Instant
from tenure_contracts.wire.lease import Stop
from tenure_worker.journal import Result
from tenure_worker.launcher import Receipt, Started
from tenure_worker.outcome import Cause, conclude
from tenure_worker.reconcile import decide
from tenure_worker.wait import Wake, wait_first

NOW = datetime(2026, 12, 1, tzinfo=UTC)
STARTED = Started(session=7, start_ticks=99, at=NOW)
STOP = Stop(reason="user", requested_at=Instant.of(NOW))
EMPTY = Receipt()
RUNNING = Receipt(started=STARTED)
FAILED_SPAWN = Receipt(started=STARTED, failure=("exec", 2))


def _ended(code: int) -> Receipt:
    return Receipt(started=STARTED, exit_code=code, ended_at=NOW)


@pytest.mark.parametrize(
    ("receipt", "cause", "stop", "outcome", "code", "error", "answer"),
    [
        (_ended(0), "ended", None, "succeeded", 0, None, None),
        (_ended(3), "ended", None, "failed", 3, None, None),
        (_ended(137), "ended", None, "failed", 137, None, None),
        (_ended(0), "ended", STOP, "succeeded", 0, None, "already_ended"),
        (_ended(143), "stop", STOP, "failed", 143, "stopped", "stopped"),
        (_ended(0), "stop", STOP, "failed", 0, "stopped", "stopped"),
        (_ended(143), "deadline", None, "failed", 143, "deadline_exceeded", None),
        (_ended(143), "deadline", STOP, "failed", 143, "deadline_exceeded", "stopped"),
        (_ended(143), "authority_lost", None, "failed", 143, "authority_lost", None),
        (_ended(143), "lost_contact", None, "failed", 143, "lost_contact", None),
        (_ended(143), "worker_stopping", None, "failed", 143, "worker_stopping", None),
        (RUNNING, "ended", None, "failed", None, "exit_unknown", None),
        (FAILED_SPAWN, "ended", None, "failed", None, "spawn_failed", None),
        (EMPTY, "ended", None, "failed", None, "not_spawned", None),
        (EMPTY, "ended", STOP, "failed", None, "not_spawned", "stopped"),
    ],
)
def test_conclusions(
    receipt: Receipt,
    cause: Cause,
    stop: Stop | None,
    outcome: str,
    code: int | None,
    error: str | None,
    answer: str | None,
) -> None:
    result = conclude(receipt, cause, stop)
    seen = (result.outcome, result.exit_code, result.error_code, result.stop_answer)
    assert seen == (outcome, code, error, answer)
    assert result.spawned == (error not in ("spawn_failed", "not_spawned"))


@pytest.mark.parametrize("held", [True, False])
@pytest.mark.parametrize("same_machine", [True, False])
def test_a_written_end_is_the_truth_wherever_it_is_read(held: bool, same_machine: bool) -> None:
    verdict = decide(held=held, seen=_ended(3), same_machine=same_machine)
    assert isinstance(verdict, Result)
    assert verdict.exit_code == 3


@pytest.mark.parametrize(
    ("held", "seen", "same_machine", "expected"),
    [
        (True, EMPTY, True, "survives"),
        (True, RUNNING, True, "survives"),
        (True, None, True, "survives"),
        (False, RUNNING, True, "undecidable"),
        (False, RUNNING, False, "undecidable"),
        (False, EMPTY, False, "undecidable"),
        (False, None, True, "undecidable"),
    ],
)
def test_what_is_not_proven_is_not_said(
    held: bool, seen: Receipt | None, same_machine: bool, expected: str
) -> None:
    assert decide(held=held, seen=seen, same_machine=same_machine) == expected


def test_a_free_lock_and_no_start_prove_that_nothing_was_started() -> None:
    verdict = decide(held=False, seen=EMPTY, same_machine=True)
    assert isinstance(verdict, Result)
    assert not verdict.spawned


async def test_the_first_named_wins_among_those_that_came() -> None:
    async def now() -> None:
        return

    assert await wait_first(a=now, b=now) == "a"
    assert await wait_first(a=anyio.sleep_forever, b=now) == "b"


async def test_a_bell_is_remembered_once(autojump_clock: object) -> None:
    wake = Wake()
    wake.ring()
    with anyio.fail_after(1):
        await wake.wait(60)
    start = anyio.current_time()
    await wake.wait(60)
    assert anyio.current_time() - start == 60
