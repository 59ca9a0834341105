"""attest: what runs is adopted, what stopped is over, and every statement counts once."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest

from tenure_contracts.wire.lease import Fence
from tests.harness import ScratchDatabase
from tests.harness.fake_worker import FakeWorker, Work, refused
from tests.harness.seed import Seed, SeededRun
from tests.ingress.conftest import claim

OPERATOR_STOPPED = """
WITH stated AS (
    INSERT INTO tenure.attestations
        (attestation, attempt, lease_generation, sequence, state, actor, observed_at, recorded_at, content)
    SELECT gen_random_uuid(), $1::uuid, 1, $2::int, 'stopped', 'operator:ann', now, now, sha256('')
    FROM tenure.clock() now
    RETURNING sequence, recorded_at
)
UPDATE tenure.run_leases
SET attested_state = 'stopped', attested_sequence = sequence, attested_at = recorded_at
FROM stated WHERE attempt = $1
"""


async def begun(seed: Seed, worker: FakeWorker) -> tuple[SeededRun, Work]:
    """A new run, running under this session."""
    run = seed.run("report")
    (work,) = await worker.pull()
    await worker.start(work)
    return run, work


async def succeed(worker: FakeWorker) -> FakeWorker:
    """The next session of this worker, which takes over."""
    successor = worker.another()
    await successor.register(takeover=True)
    return successor


async def verdict(worker: FakeWorker, work: Work) -> tuple[str, str | None]:
    """What a renewal says."""
    (lease,) = (await worker.renew(work))["leases"]
    return lease["status"], lease["disposition"]


def stated(database: ScratchDatabase) -> list[tuple[Any, ...]]:
    """Every statement: sequence, state, actor."""
    rows = database.rows("SELECT sequence, state, actor FROM tenure.attestations ORDER BY sequence")
    return [tuple(row) for row in rows]


async def test_what_runs_is_adopted_by_the_next_session(worker: FakeWorker, seed: Seed) -> None:
    run, work = await begun(seed, worker)
    successor = await succeed(worker)
    answer = await successor.attest(work, executor_handle="pid:4711")
    lease = seed.lease(run)
    assert (answer["status"], answer["sequence"], answer["disposition"]) == ("recorded", 1, None)
    assert (answer["stop"], answer["deadline_at"]) == (None, None)
    assert answer["lease"]["lease_version"] == lease["version"]
    assert datetime.fromisoformat(answer["lease"]["expires_at"]) == lease["expires_at"]
    now = datetime.fromisoformat(answer["server_time"])
    assert lease["expires_at"] - now == timedelta(seconds=30)
    assert (str(lease["session"]), lease["generation"]) == (successor.session, 1)
    assert (lease["attested_state"], lease["attested_sequence"]) == ("running", 1)
    assert await verdict(successor, work) == ("renewed", None)
    with refused("session_fenced"):
        await worker.renew(work)
    assert (await successor.complete(work))["status"] == "applied"
    assert seed.events(run).count("attempt.attested") == 1


async def test_until_it_is_adopted_the_next_session_does_not_hold_it(worker: FakeWorker, seed: Seed) -> None:
    _, work = await begun(seed, worker)
    successor = await succeed(worker)
    assert await verdict(successor, work) == ("fenced", "stop")
    await successor.attest(work)
    assert await verdict(successor, work) == ("renewed", None)


async def test_what_is_adopted_counts_against_the_limit(worker: FakeWorker, seed: Seed) -> None:
    works = [(await begun(seed, worker))[1] for _ in range(2)]
    seed.runs("report", 2)
    successor = worker.another()
    await successor.register(takeover=True, limit=1)
    for work in works:  # existing work wins over the limit
        assert (await successor.attest(work))["lease"]
    assert (await successor.offers([{"offer": str(uuid4()), "token": "x" * 43}]))["none"] == "at_limit"
    await successor.complete(works[0])
    assert await successor.pull() == []
    await successor.complete(works[1])
    assert len(await successor.pull()) == 1


async def test_the_holder_itself_may_say_that_it_runs(worker: FakeWorker, seed: Seed) -> None:
    run, work = await begun(seed, worker)
    answer = await worker.attest(work)
    assert answer["lease"]["lease_version"] == seed.lease(run)["version"] == 2
    assert await verdict(worker, work) == ("renewed", None)


async def test_a_start_that_was_not_acknowledged_can_be_adopted(worker: FakeWorker, seed: Seed) -> None:
    work = await claim(seed, worker)
    await worker.starting(work)
    successor = await succeed(worker)
    await successor.attest(work)
    assert (await successor.running(work))["status"] == "applied"


async def test_the_same_statement_counts_once(
    worker: FakeWorker, seed: Seed, database: ScratchDatabase
) -> None:
    run, work = await begun(seed, worker)
    first = await worker.attest(work)
    again = await worker.attest(work)
    assert (first.pop("status"), again.pop("status")) == ("recorded", "replayed")
    first.pop("server_time")
    again.pop("server_time")
    assert first == again
    await worker.renew(work)
    third = await worker.attest(work)
    assert (third["status"], third["lease"]["lease_version"]) == ("replayed", 3)
    assert stated(database) == [(1, "running", "worker:w1")]
    assert seed.events(run).count("attempt.attested") == 1


async def test_a_statement_repeated_by_the_next_session_moves_the_lease_once(
    worker: FakeWorker, seed: Seed
) -> None:
    run, work = await begun(seed, worker)
    await worker.attest(work)
    successor = await succeed(worker)
    answers = [await successor.attest(work) for _ in range(2)]
    assert [(each["status"], each["disposition"]) for each in answers] == [("replayed", None)] * 2
    assert [each["lease"]["lease_version"] for each in answers] == [seed.lease(run)["version"]] * 2 == [4, 4]
    late = await worker.attest(work)  # a delayed duplicate of the older session
    assert (late["status"], late["lease"], late["disposition"]) == ("replayed", None, "stop")
    assert str(seed.lease(run)["session"]) == successor.session


async def test_a_sequence_has_one_content(worker: FakeWorker, seed: Seed, database: ScratchDatabase) -> None:
    _, work = await begun(seed, worker)
    await worker.attest(work)
    others: list[dict[str, Any]] = [{"state": "stopped"}, {"scope": "cgroup"}, {"executor_handle": "pid:2"}]
    for other in others:
        with refused("content_conflict"):
            await worker.attest(work, **other)
    assert stated(database) == [(1, "running", "worker:w1")]


@pytest.mark.parametrize("sequence", [1, 4, 2**31 - 1])
async def test_a_sequence_that_is_not_the_next_one_is_told_the_last(
    worker: FakeWorker, seed: Seed, database: ScratchDatabase, sequence: int
) -> None:
    run, work = await begun(seed, worker)
    for known in (1, 2):
        database.rows(OPERATOR_STOPPED, run.attempt, known)
    with refused("attestation_conflict") as answers:
        await worker.attest(work, "stopped", sequence)
    assert answers[0].problem["last_sequence"] == 2
    assert (await worker.attest(work, "stopped", 3))["status"] == "recorded"


async def test_the_first_sequence_is_one(worker: FakeWorker, seed: Seed) -> None:
    _, work = await begun(seed, worker)
    with refused("attestation_conflict") as answers:
        await worker.attest(work, sequence=2)
    assert answers[0].problem["last_sequence"] == 0


async def test_after_stopped_the_lease_is_over(worker: FakeWorker, seed: Seed) -> None:
    run, work = await begun(seed, worker)
    answer = await worker.attest(work, "stopped")
    assert (answer["status"], answer["lease"], answer["disposition"]) == ("recorded", None, "settled")
    assert await verdict(worker, work) == ("terminal", "settled")
    with refused("content_conflict"):
        await worker.attest(work, "running", 2)
    assert seed.status(run) == ("running", "running")  # a statement decides nothing
    assert (await worker.attest(work, "stopped", 2))["status"] == "recorded"
    assert (await worker.running(work))["status"] == "replayed"
    assert (await worker.complete(work))["status"] == "applied"


async def test_after_stopped_nothing_is_acknowledged(worker: FakeWorker, seed: Seed) -> None:
    work = await claim(seed, worker)
    await worker.starting(work)
    await worker.attest(work, "stopped")
    for call in (worker.running, worker.start_failure):
        with refused("attempt_settled"):
            await call(work)
    assert (await worker.starting(work))["status"] == "replayed"


async def test_after_stopped_a_process_that_ran_is_not_asked_for_another_handle(
    worker: FakeWorker, seed: Seed
) -> None:
    _, work = await begun(seed, worker)
    await worker.attest(work, "stopped")
    with refused("attempt_settled"):
        await worker.running(work, executor_handle="pid:2")
    with refused("attempt_settled"):
        await worker.start_failure(work)


async def test_running_after_an_operators_stopped_is_recorded_and_moves_nothing(
    worker: FakeWorker, seed: Seed, database: ScratchDatabase
) -> None:
    run, work = await begun(seed, worker)
    database.rows(OPERATOR_STOPPED, run.attempt, 1)
    successor = await succeed(worker)
    before = seed.lease(run)
    for sequence in (2, 3):
        answer = await successor.attest(work, sequence=sequence)
        assert (answer["status"], answer["lease"], answer["disposition"]) == ("recorded", None, "stop")
    lease = seed.lease(run)
    for fact in ("session", "version", "expires_at", "attested_state"):
        assert lease[fact] == before[fact]
    assert lease["attested_sequence"] == 3  # a decision that did not know of it cannot commit
    assert stated(database)[1:] == [(2, "running", "worker:w1"), (3, "running", "worker:w1")]
    with refused("session_fenced"):
        await worker.renew(work)


async def test_an_operators_stopped_ends_the_holders_renewals_for_good(
    worker: FakeWorker, seed: Seed, database: ScratchDatabase
) -> None:
    run, work = await begun(seed, worker)
    database.rows(OPERATOR_STOPPED, run.attempt, 1)
    await worker.attest(work, sequence=2)
    assert await verdict(worker, work) == ("terminal", "settled")


async def test_what_ended_still_takes_statements(worker: FakeWorker, seed: Seed) -> None:
    lost, one = await begun(seed, worker)
    done, two = await begun(seed, worker)
    seed.settle_lost(lost)
    await worker.complete(two)
    for run, work in ((lost, one), (done, two)):
        before = seed.status(run)
        answer = await worker.attest(work)
        assert (answer["status"], answer["lease"], answer["disposition"]) == ("recorded", None, "stop")
        answer = await worker.attest(work, "stopped", 2)
        assert (answer["status"], answer["lease"], answer["disposition"]) == ("recorded", None, "settled")
        assert seed.status(run) == before
        assert seed.events(run)[-2:] == ["attempt.attested"] * 2


async def test_any_session_of_the_worker_may_state_and_none_that_ended_adopts(
    worker: FakeWorker, seed: Seed
) -> None:
    run, work = await begun(seed, worker)
    await succeed(worker)
    answer = await worker.attest(work)
    assert (answer["status"], answer["lease"], answer["disposition"]) == ("recorded", None, "stop")
    assert str(seed.lease(run)["session"]) == worker.session
    with refused("session_fenced"):
        await worker.another().attest(work, sequence=2)


async def test_an_offline_session_states_and_does_not_adopt(worker: FakeWorker, seed: Seed) -> None:
    _, work = await begun(seed, worker)
    await worker.offline()
    answer = await worker.attest(work)
    assert (answer["lease"], answer["disposition"]) == (None, "stop")
    assert (await worker.attest(work, "stopped", 2))["disposition"] == "settled"


async def test_who_states_must_hold_the_token(
    worker: FakeWorker, other: FakeWorker, seed: Seed, database: ScratchDatabase
) -> None:
    _, work = await begun(seed, worker)
    with refused("lease_fenced"):
        await other.attest(work)
    for wrong in ({"token": "x" * 43}, {"offer": str(uuid4())}, {"lease_generation": 2}):
        with refused("lease_fenced") as answers:
            await worker.attest(work.with_(**wrong), sequence=7)
        assert "last_sequence" not in answers[0].problem
    with refused("unknown_attempt"):
        await worker.attest(work.with_(attempt=str(uuid4())))
    worker.token = worker.token[:-3] + ("AAA" if worker.token[-3:] != "AAA" else "BBA")
    with refused("credential_refused"):
        await worker.attest(work)
    assert stated(database) == []


async def test_what_was_not_started_cannot_be_attested(
    worker: FakeWorker, other: FakeWorker, seed: Seed
) -> None:
    work = await claim(seed, worker)
    with refused("lease_not_started"):
        await worker.attest(work)
    await worker.decline(work, reason="shutdown")
    with refused("lease_fenced"):
        await worker.attest(work)
    await other.pull()
    with refused("lease_fenced"):
        await worker.attest(work)


async def test_an_adopted_process_learns_of_stop_and_deadline(
    worker: FakeWorker, seed: Seed, database: ScratchDatabase
) -> None:
    seed.task("timed", timeout="10s")
    run, late = seed.runs("timed", 2)
    one, two = await worker.pull(2)
    for work in (one, two):
        await worker.start(work)
    seed.request_cancel(run)
    successor = await succeed(worker)
    answer = await successor.attest(one)
    assert (answer["stop"]["reason"], answer["disposition"]) == ("user", None)
    assert answer["lease"]
    assert answer["deadline_at"] is not None
    database.shift(timedelta(seconds=11))
    await successor.heartbeat()
    answer = await successor.attest(two)
    assert answer["stop"]["reason"] == seed.lease(late)["stop_reason"] == "timeout"


async def test_a_late_receipt_is_kept_as_it_was_told(
    worker: FakeWorker, seed: Seed, database: ScratchDatabase
) -> None:
    _, work = await begun(seed, worker)
    outcome = {
        "outcome": "failed",
        "exit_code": 3,
        "started_at": work.started_at,
        "output": {"a\0": "x" * 70_000},
    }
    answer = await worker.attest(
        work, "stopped", outcome={**outcome, "error": {"code": "exit", "message": "3"}}
    )
    assert answer["status"] == "recorded"
    assert json.loads(database.value("SELECT outcome::text FROM tenure.attestations")) == {
        "outcome": "failed",
        "exit_code": 3,
        "started_at": work.started_at,
        "output_flag": "too_large",
        "error": {"code": "exit", "message": "3"},
    }
    with refused("invalid_field"):
        await worker.attest(work, "running", 2, outcome=outcome)


async def test_nobody_observes_the_future(worker: FakeWorker, seed: Seed, database: ScratchDatabase) -> None:
    _, work = await begun(seed, worker)
    await worker.attest(work, observed_at="2999-01-01T00:00:00Z")
    assert database.value("SELECT observed_at = recorded_at FROM tenure.attestations")


async def test_a_session_lists_what_it_holds(worker: FakeWorker, other: FakeWorker, seed: Seed) -> None:
    unstarted, run_and_work = await claim(seed, worker), await begun(seed, worker)
    await claim(seed, other)
    run, work = run_and_work
    await worker.complete((await begun(seed, worker))[1])
    seed.request_cancel(run)
    one, two = await worker.leases()
    assert two.pop("stop")["reason"] == "user"
    assert one.pop("stop") is None
    for lease, held, status in ((one, unstarted, "claimed"), (two, work, "running")):
        assert datetime.fromisoformat(lease.pop("expires_at")) > datetime.fromisoformat(held.started_at)
        fence = {name: value for name, value in held.fence.items() if name in Fence.__struct_fields__}
        fence.pop("token")
        assert lease == {**fence, "run": held.run, "status": status}


async def test_only_a_live_session_lists(worker: FakeWorker, seed: Seed) -> None:
    _, work = await begun(seed, worker)
    successor = await succeed(worker)
    with refused("session_fenced"):
        await worker.leases()
    assert await successor.leases() == []
    await successor.attest(work)
    assert [lease["attempt"] for lease in await successor.leases()] == [work.attempt]
    successor.token = successor.token[:-3] + ("AAA" if successor.token[-3:] != "AAA" else "BBA")
    with refused("credential_refused"):
        await successor.leases()
