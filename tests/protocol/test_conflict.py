"""The same natural key with other content: refused with a code of its own, and the first report stands."""

from __future__ import annotations

from collections import Counter
from typing import Any, Final

import pytest

from tests.harness import ScratchDatabase
from tests.harness.fake_worker import FakeWorker, Refused, fresh_offers
from tests.harness.seed import Seed
from tests.protocol.call import Case, arrange
from tests.protocol.facts import check_events, counted, nothing_changes
from tests.protocol.repetition import verdicts
from tests.protocol.table import CALLS

OTHER_TIME: Final = "2026-01-02T00:00:00Z"
ERROR: Final = {"code": "other", "message": ""}
LOG: Final = {"bytes": 1, "sha256": "s" * 43, "truncated": False}

# fmt: off
CONFLICTS: Final[dict[str, list[tuple[dict[str, Any], str]]]] = {
    "register": [
        ({"labels": {"case": "register", "region": "us"}}, "content_conflict"),
        ({"executors": ["command", "handler"]}, "content_conflict"),
        ({"handlers": ["resize"]}, "content_conflict"),
        ({"limit": 17}, "content_conflict"),
        ({"session_lease_s": 44}, "content_conflict"),
    ],
    "running": [
        ({"executor_handle": "pid:2"}, "handle_conflict"),
        ({"executor_handle": "pid:2", "started_at": OTHER_TIME}, "handle_conflict"),
        ({"started_at": OTHER_TIME}, "content_conflict"),
    ],
    "start-failure": [
        ({"error": ERROR}, "content_conflict"),
    ],
    "complete": [
        ({"outcome": "failed"}, "content_conflict"),
        ({"exit_code": 3}, "content_conflict"),
        ({"started_at": OTHER_TIME}, "content_conflict"),
        ({"finished_at": OTHER_TIME}, "content_conflict"),
        ({"output": {"rows": 4}}, "content_conflict"),
        ({"error": ERROR}, "content_conflict"),
        ({"log": LOG}, "content_conflict"),
        ({"stop_answer": "stopped"}, "content_conflict"),
    ],
    "attest": [
        ({"state": "stopped"}, "content_conflict"),
        ({"scope": "cgroup"}, "content_conflict"),
        ({"observed_at": OTHER_TIME}, "content_conflict"),
        ({"executor_handle": "pid:2"}, "content_conflict"),
        ({"sequence": 3}, "attestation_conflict"),
    ],
}
# fmt: on

KEPT: Final = ("complete", "start-failure")
"""Calls whose other content is kept as late evidence: once each, and eight per attempt."""


@pytest.mark.parametrize("name", CONFLICTS)
async def test_other_content_is_a_conflict(
    worker: FakeWorker, seed: Seed, database: ScratchDatabase, name: str
) -> None:
    (call,) = [call for call in CALLS if call.name == name]
    case = await arrange(seed, worker.http, call)
    await case.send(worker.http)
    for changes, code in CONFLICTS[name]:
        before = counted(database)
        assert await refusal_of(case, worker, changes) == code, changes
        evidence = Counter({"attempt.late_callback": 1, "run version": 1}) if name in KEPT else Counter()
        assert counted(database) - before == evidence, changes
        with nothing_changes(database):
            assert await refusal_of(case, worker, changes) == code, changes
    with nothing_changes(database):
        assert verdicts(await case.send(worker.http)) == ("replayed",) * len(call.answers)
    check_events(database)


async def refusal_of(case: Case, worker: FakeWorker, changes: dict[str, Any]) -> str:
    """The code that the changed call is refused with."""
    try:
        answer = await Case(**{**case.__dict__, "body": {**case.body, **changes}}).send(worker.http)
    except Refused as refusal:
        return refusal.code
    return f"not refused: {answer}"


async def test_a_spent_offer_under_another_token_is_only_spent(
    worker: FakeWorker, seed: Seed, database: ScratchDatabase
) -> None:
    seed.runs("report", 2)
    (offer,) = offers = fresh_offers()
    await worker.offers(offers)
    (guessed,) = fresh_offers()
    with nothing_changes(database, but=["worker_sessions.seen_at", "worker_sessions.expires_at"]):
        answer = await worker.offers([{**guessed, "offer": offer["offer"]}])
        assert (answer["offered"], answer["settled"]) == ([], [offer["offer"]])


@pytest.mark.parametrize("reasons", [("declined", "shutdown"), ("shutdown", "declined")])
async def test_work_is_given_back_for_one_reason(
    worker: FakeWorker, seed: Seed, database: ScratchDatabase, reasons: tuple[str, str]
) -> None:
    seed.run("report")
    (work,) = await worker.pull()
    await worker.decline(work, reason=reasons[0])
    with nothing_changes(database):
        answer = await worker.decline(work, reason=reasons[1])
    assert answer["leases"] == [{"attempt": work.attempt, "status": "released"}]
    assert seed.database.value("SELECT release_reason FROM tenure.run_leases") == reasons[0]
