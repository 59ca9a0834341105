"""complete: the truth is accepted late, from any session of the worker, whatever its payload; once."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest

from tenure_contracts import bounds
from tests.harness import ScratchDatabase
from tests.harness.fake_worker import FakeWorker, refused
from tests.harness.seed import Seed
from tests.ingress.conftest import claim, started


def outcome(answer: dict[str, Any]) -> tuple[str, str, str]:
    return answer["status"], answer["attempt_status"], answer["run_status"]


async def test_a_success_ends_attempt_run_and_lease(
    worker: FakeWorker, seed: Seed, database: ScratchDatabase
) -> None:
    run = seed.run("report")
    (work,) = await worker.pull()
    await worker.start(work)
    log = {"bytes": 10, "sha256": "s" * 43, "truncated": False}
    answer = await worker.complete(work, output={"rows": 3}, log=log)
    assert outcome(answer) == ("applied", "succeeded", "succeeded")
    assert (answer["late"], answer["output_flag"]) == (False, None)
    row = database.rows("SELECT output::text, finished_at IS NOT NULL AS finished FROM tenure.runs")[0]
    assert (json.loads(row["output"]), row["finished"]) == ({"rows": 3}, True)
    assert json.loads(database.value("SELECT log::text FROM tenure.run_attempts"))["bytes"] == 10
    assert seed.lease(run)["state"] == "completed"
    assert seed.events(run)[-2:] == ["attempt.succeeded", "run.succeeded"]


async def test_a_failure_without_policy_fails_the_run(worker: FakeWorker, seed: Seed) -> None:
    work = await started(seed, worker)
    error = {"code": "exit", "message": "exit code 3"}
    answer = await worker.complete(work, "failed", exit_code=3, error=error)
    assert outcome(answer) == ("applied", "failed", "failed")


async def test_a_failure_is_retried_as_the_policy_and_its_exit_codes_say(
    worker: FakeWorker, seed: Seed, database: ScratchDatabase
) -> None:
    seed.task(
        "flaky",
        retry={"max_attempts": 3, "on": ["failed"], "backoff": {"base": "5s"}},
        exit_codes={"64": "fail"},
    )
    run, final = seed.runs("flaky", 2)
    for work in await worker.pull(2):
        await worker.start(work)
        code = 64 if work.run == str(final.run) else 1
        await worker.complete(work, "failed", exit_code=code)
    assert seed.status(run) == ("retry_wait", "failed")
    assert seed.status(final) == ("failed", "failed")
    wait = "SELECT extract(epoch FROM next_attempt_at - tenure.clock()) FROM tenure.runs WHERE run = $1"
    assert 3 < database.value(wait, run.run) <= 5


async def test_sent_again_it_has_one_effect_and_answers_the_same(
    worker: FakeWorker, seed: Seed, database: ScratchDatabase
) -> None:
    work = await started(seed, worker)
    first = await worker.complete(work, output=[1, 2])
    events = database.rows("SELECT * FROM tenure.run_events ORDER BY sequence")
    again = await worker.complete(work.with_(lease_version=1), output=[1, 2])
    assert (first.pop("status"), again.pop("status")) == ("applied", "replayed")
    first.pop("server_time")
    again.pop("server_time")
    assert first == again
    assert database.rows("SELECT * FROM tenure.run_events ORDER BY sequence") == events


async def test_a_replay_answers_what_the_first_one_did_although_the_run_went_on(
    worker: FakeWorker, seed: Seed, database: ScratchDatabase
) -> None:
    seed.task("flaky", retry={"max_attempts": 2, "backoff": {"base": "0s"}})
    run = seed.run("flaky")
    (work,) = await worker.pull()
    await worker.start(work)
    assert (await worker.complete(work, "failed"))["run_status"] == "retry_wait"
    database.execute(
        "UPDATE tenure.runs SET status = 'queued', next_attempt_at = NULL WHERE run = $1", run.run
    )
    assert outcome(await worker.complete(work, "failed")) == ("replayed", "failed", "retry_wait")


async def test_other_content_is_a_conflict_and_kept_as_evidence(worker: FakeWorker, seed: Seed) -> None:
    run = seed.run("report")
    (work,) = await worker.pull()
    await worker.start(work)
    await worker.complete(work)
    for _ in range(2):
        with refused("content_conflict"):
            await worker.complete(work, "failed")
    assert seed.status(run) == ("succeeded", "succeeded")
    assert seed.events(run).count("attempt.late_callback") == 1


async def test_late_evidence_is_kept_eight_times_at_most(worker: FakeWorker, seed: Seed) -> None:
    run = seed.run("report")
    (work,) = await worker.pull()
    await worker.start(work)
    await worker.complete(work)
    for code in range(bounds.LATE_CALLBACKS + 2):
        with refused("content_conflict"):
            await worker.complete(work, "failed", exit_code=code)
    assert seed.events(run).count("attempt.late_callback") == bounds.LATE_CALLBACKS


async def test_what_ended_otherwise_is_settled(worker: FakeWorker, seed: Seed) -> None:
    run = seed.run("report")
    (work,) = await worker.pull()
    await worker.start(work)
    seed.settle_lost(run)
    assert outcome(await worker.complete(work)) == ("settled", "lost", "lost")
    assert outcome(await worker.complete(work)) == ("settled", "lost", "lost")
    assert seed.events(run).count("attempt.late_callback") == 1


async def test_the_truth_is_worth_more_than_the_lease(
    worker: FakeWorker, seed: Seed, database: ScratchDatabase
) -> None:
    work = await started(seed, worker)
    database.shift(timedelta(hours=1))
    answer = await worker.complete(work)
    assert (outcome(answer), answer["late"]) == (("applied", "succeeded", "succeeded"), True)
    assert (await worker.complete(work))["late"] is True


async def test_any_session_of_the_worker_may_report(worker: FakeWorker, seed: Seed) -> None:
    one, two, three = [await started(seed, worker) for _ in range(3)]
    successor = worker.another()
    await successor.register(takeover=True)
    assert (await worker.complete(one))["status"] == "applied"
    assert (await successor.complete(two))["status"] == "applied"
    await successor.offline()
    assert (await successor.complete(three))["status"] == "applied"


async def test_a_report_is_the_same_from_another_session(worker: FakeWorker, seed: Seed) -> None:
    work = await started(seed, worker)
    await worker.complete(work)
    successor = worker.another()
    await successor.register(takeover=True)
    assert (await successor.complete(work))["status"] == "replayed"


async def test_who_reports_must_be_a_session_of_the_worker_and_hold_the_token(
    worker: FakeWorker, other: FakeWorker, seed: Seed
) -> None:
    work = await started(seed, worker)
    with refused("lease_fenced"):
        await other.complete(work)
    with refused("session_fenced"):
        await worker.another().complete(work)
    for wrong in ({"token": "x" * 43}, {"offer": str(uuid4())}, {"lease_generation": 2}):
        with refused("lease_fenced"):
            await worker.complete(work.with_(**wrong))
    with refused("invalid_field") as answers:
        await worker.complete(work.with_(lease_version=99))
    assert "$.lease.lease_version" in answers[0].problem["detail"]
    with refused("unknown_attempt"):
        await worker.complete(work.with_(attempt=str(uuid4())))
    assert (await worker.complete(work))["status"] == "applied"


async def test_what_was_not_started_cannot_have_ended(
    worker: FakeWorker, other: FakeWorker, seed: Seed
) -> None:
    work = await claim(seed, worker)
    with refused("lease_not_started"):
        await worker.complete(work)
    await worker.decline(work, reason="shutdown")
    with refused("lease_fenced"):
        await worker.complete(work)
    await other.pull()
    with refused("lease_fenced"):
        await worker.complete(work)


async def test_a_report_right_after_the_start_is_accepted(worker: FakeWorker, seed: Seed) -> None:
    work = await claim(seed, worker)
    await worker.starting(work)
    assert outcome(await worker.complete(work)) == ("applied", "succeeded", "succeeded")


@pytest.mark.parametrize("code", [0xC0000005, -(2**31), 2**63 - 1])
async def test_an_end_is_taken_whatever_number_it_comes_with(
    worker: FakeWorker, seed: Seed, code: int
) -> None:
    work = await started(seed, worker)
    await worker.complete(work, "failed", exit_code=code)
    assert seed.database.value("SELECT exit_code FROM tenure.run_attempts") == code


async def test_a_cancel_intent_wins_over_the_exit_code(
    worker: FakeWorker, seed: Seed, database: ScratchDatabase
) -> None:
    for result in ("succeeded", "failed"):
        run = seed.run("report")
        (work,) = await worker.pull()
        await worker.start(work)
        seed.request_cancel(run)
        answer = await worker.complete(work, result, output="kept", stop_answer="stopped")
        assert outcome(answer) == ("applied", "cancelled", "cancelled")
    row = database.rows("SELECT DISTINCT output::text, stop_answer FROM tenure.run_attempts")[0]
    assert tuple(row) == ('"kept"', "stopped")


TIMEOUTS: dict[str, tuple[str, dict[str, Any], str]] = {
    "stopped at the server's wish": ("failed", {"stop_answer": "stopped"}, "timed_out"),
    "stopped by the worker": ("failed", {"error": {"code": "deadline_exceeded", "message": ""}}, "timed_out"),
    "ended by itself": ("failed", {"stop_answer": "already_ended"}, "failed"),
    "succeeded late": ("succeeded", {"stop_answer": "stopped"}, "succeeded"),
}


async def test_a_deadline_only_turns_a_failure_into_a_timeout(
    worker: FakeWorker, seed: Seed, database: ScratchDatabase
) -> None:
    seed.task("timed", timeout="10s")
    runs = seed.runs("timed", len(TIMEOUTS))
    held = await worker.pull(len(runs))
    for work in held:
        await worker.start(work)
    database.shift(timedelta(seconds=11))
    await worker.renew(*held)
    for work, (result, report, status) in zip(held, TIMEOUTS.values(), strict=True):
        answer = await worker.complete(work, result, **report)
        assert outcome(answer) == ("applied", status, status)
    ends = {seed.events(run)[-1] for run in runs}
    assert ends == {"run.timed_out", "run.failed", "run.succeeded"}


async def test_a_claimed_timeout_before_the_deadline_is_a_failure(worker: FakeWorker, seed: Seed) -> None:
    seed.task("timed", timeout="10s")
    seed.run("timed")
    (work,) = await worker.pull()
    await worker.start(work)
    answer = await worker.complete(work, "failed", error={"code": "deadline_exceeded", "message": ""})
    assert answer["attempt_status"] == "failed"


PAYLOADS: dict[str, tuple[str, str | None]] = {
    "too large": (json.dumps("x" * 70_000), "too_large"),
    "a NUL": (r'"a\u0000b"', None),
    "a lone surrogate": (r'"\ud800"', None),
    "an emoji": ('"\U0001f600"', None),
    "a huge number": ("1e999999", "invalid"),
    "deep": ("[" * 500 + "]" * 500, "invalid"),
}


async def test_no_payload_keeps_an_attempt_from_ending(
    worker: FakeWorker, seed: Seed, database: ScratchDatabase
) -> None:
    headers = {"Authorization": f"Bearer {worker.token}", "Content-Type": "application/json"}
    for output, flag in PAYLOADS.values():
        work = await started(seed, worker)
        body = {
            "request_id": str(uuid4()),
            "generation": worker.generation,
            "lease": work.fence,
            "outcome": "succeeded",
            "output": "@",
        }
        content = json.dumps(body).replace('"@"', output).encode()
        answer = await worker.send("complete", content=content, headers=headers)
        assert answer.status_code == 200, answer.text
        assert outcome(answer.json()) == ("applied", "succeeded", "succeeded")
        (stored,) = database.rows(
            "SELECT output::text, output_flag FROM tenure.run_attempts WHERE attempt = $1", work.attempt
        )
        assert answer.json()["output_flag"] == stored["output_flag"]
        assert flag is None or (stored["output"], stored["output_flag"]) == (None, flag)


async def test_impossible_times_are_clamped(
    worker: FakeWorker, seed: Seed, database: ScratchDatabase
) -> None:
    work = await started(seed, worker)
    await worker.complete(work, started_at="2999-01-01T00:00:00Z", finished_at="1999-01-01T00:00:00Z")
    held = database.value(
        "SELECT barrier_at <= started_at AND started_at <= finished_at AND finished_at <= tenure.clock()"
        " FROM tenure.run_attempts"
    )
    assert held
    assert "times_clamped" in database.value(
        "SELECT payload::text FROM tenure.run_events WHERE type = 'attempt.succeeded'"
    )
