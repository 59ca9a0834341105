"""What a seed writes is what the product would have written."""

from __future__ import annotations

from tenure_contracts.identity import parse_worker_token
from tests.harness import ScratchDatabase
from tests.harness.seed import Seed


def test_a_run_is_queued_with_a_dispatchable_attempt(database: ScratchDatabase) -> None:
    seed = Seed(database)
    seed.task("report", command=["report", "{{ input.day }}"], priority=7)
    run = seed.run("report", {"day": 3})
    assert seed.status(run) == ("queued", "claimed")
    assert seed.events(run) == ["run.queued", "attempt.claimed"]
    assert '"argv":["report","3"]' in database.value("SELECT plan FROM tenure.runs")
    assert database.value("SELECT dispatchable FROM tenure.run_attempts")


def test_a_task_gets_one_revision_after_the_other(database: ScratchDatabase) -> None:
    seed = Seed(database)
    assert [seed.task("report"), seed.task("report", priority=1), seed.task("other")] == [1, 2, 1]
    seed.run("report")
    assert database.value("SELECT task_revision FROM tenure.runs") == 2


def test_a_credential_is_rotated_by_asking_for_it_again(database: ScratchDatabase) -> None:
    seed = Seed(database)
    older = parse_worker_token(seed.credential("w1", credential="cred0001"))
    newer = parse_worker_token(seed.credential("w1", credential="cred0001"))
    ask = "SELECT tenure.authenticate_worker($1, $2, tenure.clock())"
    assert database.value(ask, older.id, older.secret_digest) is None
    assert database.value(ask, newer.id, newer.secret_digest) == "w1"


def test_a_trigger_is_due_at_once(database: ScratchDatabase) -> None:
    seed = Seed(database)
    seed.task("report")
    assert seed.trigger("nightly", "report", cron="30 2 * * *") == 1
    assert database.value("SELECT due_at <= tenure.clock() FROM tenure.trigger_cursors")
