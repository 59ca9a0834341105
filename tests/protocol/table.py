"""Every call of the protocol, one row each: from where, with what, and to which effect."""

from __future__ import annotations

from collections import Counter
from typing import Final

from tests.harness.fake_worker import FakeWorker, fresh_offers, item
from tests.harness.seed import Seed
from tests.protocol.call import BEGAN, Body, Call, Case, bring

SESSION_TIMES: Final = frozenset({"worker_sessions.seen_at", "worker_sessions.expires_at"})
LEASE_TIMES: Final = frozenset({"run_leases.version", "run_leases.renewed_at", "run_leases.expires_at"})


def _fence(case: Case) -> Body:
    return {"lease": case.held.fence}


def _registration(case: Case) -> Body:
    return {
        "labels": {"case": case.call.name},
        "executors": ["command"],
        "limit": 16,
        "agent": "fake-worker/1",
    }


def _nothing(case: Case) -> Body:
    return {}


def _offers(case: Case) -> Body:
    return {"offers": fresh_offers(1)}


def _decline(case: Case) -> Body:
    return {"leases": [case.held.fence], "reason": "declined"}


def _running(case: Case) -> Body:
    return {**_fence(case), "executor_handle": "pid:1", "started_at": BEGAN}


def _start_failure(case: Case) -> Body:
    return {**_fence(case), "error": {"code": "not_found", "message": "no such file"}}


def _renew(case: Case) -> Body:
    return {"leases": [case.held.fence]}


def _complete(case: Case) -> Body:
    return {
        **_fence(case),
        "outcome": "succeeded",
        "exit_code": 0,
        "finished_at": BEGAN,
        "output": {"rows": 3},
    }


def _attest(case: Case) -> Body:
    fence = {name: value for name, value in case.held.fence.items() if name != "lease_version"}
    return {**fence, "sequence": 1, "state": "running", "observed_at": BEGAN, "scope": "group"}


async def _many(seed: Seed, worker: FakeWorker, case: Case) -> None:
    """Work in each of the states that the items of an exchange are about, and some that waits."""
    held, fresh, begun, ending = [await bring(seed, worker, case.call.name, "claimed") for _ in range(4)]
    for work in (held, begun, ending):
        await worker.starting(work)
    seed.run(case.call.name)
    case.work = held
    case.body = {
        "items": [
            item("offers", **_offers(case), wait_s=0),
            item("renew", held),
            item("starting", fresh),
            item("running", begun, executor_handle="pid:1", started_at=BEGAN),
            item("complete", ending, outcome="succeeded"),
        ]
    }


def _items(case: Case) -> Body:
    return case.body


APPLIED: Final = ("applied",)
STARTED: Final = {"attempt.starting": 1, "run version": 1}
RUNS: Final = {"attempt.running": 1, "run.running": 1, "run version": 2}
ENDED: Final = {"attempt.succeeded": 1, "run.succeeded": 1, "run version": 2, "lease version": 1}
OFFERED: Final = {"run.dispatching": 1, "run version": 1, "lease": 1, "lease version": 1, "offer": 1}

# fmt: off
CALLS: Final = (
    Call("register", None, _registration,
         Counter({"session": 1, "session version": 1, "session.register": 1})),
    Call("heartbeat", "claimed", _nothing, Counter(), moves=SESSION_TIMES),
    Call("drain", "claimed", _nothing, Counter({"session version": 1}), moves=SESSION_TIMES),
    Call("offline", "claimed", _nothing,
         Counter({"session version": 1, "run.queued": 1, "run version": 1, "lease version": 1}),
         moves=SESSION_TIMES, renewal=None),
    Call("offers", "queued", _offers, Counter(OFFERED), moves=SESSION_TIMES, statements=("claim_offers",)),
    Call("decline", "claimed", _decline,
         Counter({"run.queued": 1, "run version": 1, "lease version": 1, "decline": 1}), renewal="fenced"),
    Call("starting", "claimed", _fence, Counter(STARTED), APPLIED),
    Call("running", "starting", _running, Counter(RUNS), APPLIED),
    Call("start-failure", "starting", _start_failure,
         Counter({"attempt.failed": 1, "run.failed": 1, "run version": 2, "lease version": 1}), APPLIED,
         renewal="terminal"),
    Call("renew", "running", _renew, Counter({"lease version": 1}), moves=LEASE_TIMES),
    Call("complete", "running", _complete, Counter(ENDED), APPLIED, renewal="terminal"),
    Call("attest", "running", _attest,
         Counter({"attempt.attested": 1, "attestation": 1, "run version": 1, "lease version": 1}),
         ("recorded",)),
    Call("leases", "running", _nothing, Counter(), statements=("held_leases",)),
    Call("exchange", None, _items,
         sum(map(Counter, (OFFERED, STARTED, RUNS, ENDED, {"lease version": 1})), Counter()),
         APPLIED * 3, moves=LEASE_TIMES | SESSION_TIMES, prepare=_many,
         statements=("renew", "starting", "running", "complete")),
)
# fmt: on
