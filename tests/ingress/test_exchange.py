"""exchange: many calls in one request, each answered on its own, one attempt's in their order."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest
import trio

from tenure_contracts.error import CODES
from tenure_contracts.wire.lease import Renew
from tenure_ingress.operation.exchange import OPERATIONS
from tests.harness import ScratchDatabase
from tests.harness.fake_worker import FakeWorker, Refused, Work, fresh_offers, item, refused
from tests.harness.ingress import RunningIngress
from tests.harness.seed import Seed
from tests.ingress.conftest import claim, started


def statuses(answers: list[Any]) -> list[Any]:
    """The code of each refusal, and 200 for the others; every problem is as the contract writes it."""
    return [_status(answer) for answer in answers]


def _status(answer: dict[str, Any]) -> Any:
    if "body" in answer:
        assert answer.keys() == {"status", "body"}
        return answer["status"]
    problem = answer["problem"]
    rule = CODES[problem["code"]]
    assert answer.keys() == {"status", "problem"}
    assert answer["status"] == problem["status"] == rule.status
    assert problem["disposition"] == rule.disposition
    return problem["code"]


def end(work: Work, outcome: str = "succeeded") -> dict[str, Any]:
    """A completion as an item."""
    return item("complete", work, outcome=outcome, started_at=work.started_at, finished_at=work.finished_at)


def run_(work: Work) -> dict[str, Any]:
    """A running acknowledgement as an item."""
    return item("running", work, executor_handle=work.executor_handle, started_at=work.started_at)


async def test_every_call_is_answered_as_if_it_had_come_alone(
    worker: FakeWorker, seed: Seed, database: ScratchDatabase
) -> None:
    held = [await started(seed, worker) for _ in range(2)]
    fresh, failing, ending = await claim(seed, worker), await claim(seed, worker), await started(seed, worker)
    await worker.starting(failing)
    waiting = seed.run("report")
    error = {"code": "not_found", "message": "no such file"}
    answers = await worker.exchange(
        item("offers", offers=fresh_offers(2), wait_s=0),
        item("renew", *held),
        item("starting", fresh),
        item("start-failure", failing, error=error),
        end(ending),
    )
    assert statuses(answers) == [200] * 5
    pulled, renewed, crossed, failed, completed = (answer["body"] for answer in answers)
    assert [each["attempt"]["run"] for each in pulled["offered"]] == [str(waiting.run)]
    assert [lease["status"] for lease in renewed["leases"]] == ["renewed"] * 2
    assert (crossed["status"], crossed["attempt_status"]) == ("applied", "starting")
    assert (failed["status"], failed["attempt_status"]) == ("applied", "failed")
    assert (completed["status"], completed["attempt_status"]) == ("applied", "succeeded")


async def test_a_repeated_exchange_has_one_effect(worker: FakeWorker, seed: Seed) -> None:
    run = seed.run("report")
    (work,) = await worker.pull()
    items = (item("starting", work), run_(work), end(work))
    first, again = await worker.exchange(*items), await worker.exchange(*items)
    assert [answer["body"]["status"] for answer in first] == ["applied"] * 3
    assert statuses(again) == ["attempt_settled", 200, 200]
    assert [answer["body"]["status"] for answer in again[1:]] == ["replayed"] * 2
    assert seed.events(run).count("run.succeeded") == 1


async def test_one_attempts_calls_run_in_the_given_order(worker: FakeWorker, seed: Seed) -> None:
    works = [await claim(seed, worker) for _ in range(4)]
    orders = [[item("starting", work), run_(work), end(work)] for work in works]
    mixed = [each[at] for at in range(3) for each in orders]
    assert statuses(await worker.exchange(*mixed)) == [200] * 12
    work = await claim(seed, worker)
    assert statuses(await worker.exchange(end(work), run_(work), item("starting", work))) == [
        "lease_not_started",
        "lease_not_started",
        200,
    ]


async def test_a_call_waits_for_every_attempt_that_it_shares(worker: FakeWorker, seed: Seed) -> None:
    one, two = await started(seed, worker), await started(seed, worker)
    answers = await worker.exchange(end(two), item("renew", one, two), end(one), item("renew", one))
    first, second = answers[1]["body"]["leases"], answers[3]["body"]["leases"]
    assert [lease["status"] for lease in first] == ["renewed", "terminal"]
    assert [lease["status"] for lease in second] == ["terminal"]


async def test_pulls_come_last_and_find_the_room_that_the_others_made(
    unregistered: FakeWorker, seed: Seed
) -> None:
    await unregistered.register(limit=1)
    work = await started(seed, unregistered)
    seed.runs("report", 2)
    pulls = [item("offers", offers=fresh_offers()) for _ in range(2)]
    answers = await unregistered.exchange(*pulls, end(work))
    assert [len(answer["body"]["offered"]) for answer in answers[:2]] == [1, 0]
    assert answers[1]["body"]["none"] == "at_limit"


async def test_a_wrong_item_is_refused_alone(worker: FakeWorker, seed: Seed) -> None:
    work = await started(seed, worker)
    request = str(uuid4())
    wrong: list[tuple[Any, str]] = [
        ({"call": "dance", "request_id": request}, "invalid_field"),
        (item("attest", work), "invalid_field"),
        ({"request_id": request}, "invalid_field"),
        ("renew", "invalid_field"),
        (item("renew"), "invalid_field"),
        (item("renew", work, work), "invalid_field"),
        (item("starting", work, x=1), "unknown_field"),
        (item("starting", work, generation=1), "unknown_field"),
        (item("offers", offers=fresh_offers(), wait_s=1), "invalid_field"),
        (item("logs", work, offset=0, stream="stdout", data=""), "not_available"),
        (item("starting", work.with_(attempt=str(uuid4()))), "unknown_attempt"),
        (item("starting", work.with_(token="x" * 43)), "lease_fenced"),
        (item("starting", work.with_(lease_version=99)), "invalid_field"),
    ]
    answers = await worker.exchange(*(each for each, _ in wrong), end(work))
    assert statuses(answers) == [*(code for _, code in wrong), 200]
    assert answers[0]["problem"]["request_id"] == request
    assert "$.items[6]" in answers[6]["problem"]["detail"]


async def test_a_bug_that_one_item_brings_out_is_that_items_alone(
    worker: FakeWorker, ingress: RunningIngress, seed: Seed, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = await started(seed, worker), await started(seed, worker)

    async def fail(*_: object) -> None:
        raise LookupError("a bug")

    operations: dict[Any, Any] = OPERATIONS
    monkeypatch.setitem(operations, Renew, fail)
    answers = await worker.exchange(item("renew", one), end(one), end(two))
    assert statuses(answers) == ["internal_error", 200, 200]
    assert ingress.events.count("item_failed") == 1


async def test_a_payload_is_no_reason_to_refuse(worker: FakeWorker, seed: Seed) -> None:
    work = await started(seed, worker)
    (answer,) = await worker.exchange({**end(work), "output": "x" * 700_000, "error": 3, "log": []})
    assert (answer["status"], answer["body"]["output_flag"]) == (200, "too_large")


async def test_bounds_concern_the_whole(worker: FakeWorker, seed: Seed) -> None:
    run = seed.run("report")
    (work,) = await worker.pull()
    many = [work.with_(attempt=str(uuid4())) for _ in range(200)]
    for items in (
        [item("renew", work)] * 65,
        [],
        [item("renew", *many), item("renew", *many[:57])],
    ):
        with refused("invalid_field"):
            await worker.exchange(*items)
    assert statuses(await worker.exchange(item("renew", *many), item("renew", *many[:56]))) == [200] * 2
    assert statuses(await worker.exchange(*[item("renew", work)] * 64)) == [200] * 64
    assert seed.lease(run)["version"] == 65


async def test_a_body_over_a_mebibyte_is_refused_by_its_announced_length(worker: FakeWorker) -> None:
    host, port = worker.http.base_url.host, worker.http.base_url.port
    assert port is not None
    for length, status in ((2**20 + 1, b"HTTP/1.1 413"), (2**20, b"HTTP/1.1 400")):
        async with await trio.open_tcp_stream(host, port) as stream:
            head = (
                f"POST /v1/sessions/{worker.session}/exchange HTTP/1.1\r\nHost: ingress\r\n"
                f"Authorization: Bearer {worker.token}\r\nContent-Type: application/json\r\n"
                f"Content-Length: {length}\r\n\r\n"
            )
            await stream.send_all(head.encode())
            if length <= 2**20:
                await stream.send_all(b"[" * length)
            assert (await stream.receive_some()).startswith(status)


async def test_who_calls_concerns_the_whole_and_which_session_each_item(
    worker: FakeWorker, seed: Seed
) -> None:
    one, two = await started(seed, worker), await started(seed, worker)
    successor = worker.another()
    await successor.register(takeover=True)
    # The outcome is proven by the lease token alone.
    assert statuses(await worker.exchange(item("renew", one), end(two))) == ["session_fenced", 200]
    worker.token = worker.token[:-3] + ("AAA" if worker.token[-3:] != "AAA" else "BBA")
    with refused("credential_refused"):
        await worker.exchange(item("renew", one))


async def test_a_locked_row_delays_its_own_attempt_only(
    worker: FakeWorker, seed: Seed, database: ScratchDatabase
) -> None:
    free, locked = await claim(seed, worker), await claim(seed, worker)
    answers: list[Any] = []
    async with database.session() as somebody:
        await somebody.execute("BEGIN")
        await somebody.rows("SELECT FROM tenure.run_leases WHERE attempt = $1 FOR UPDATE", locked.attempt)
        async with trio.open_nursery() as nursery:

            async def both() -> None:
                items = [item("starting", locked), run_(locked), item("starting", free), run_(free)]
                answers.extend(await worker.exchange(*items))

            nursery.start_soon(both)
            await database.wait_until(
                "status = 'running' FROM tenure.run_attempts WHERE attempt = $1", free.attempt
            )
            assert answers == []
            await somebody.execute("ROLLBACK")
    assert statuses(answers) == [200] * 4


async def test_what_stays_locked_is_to_be_tried_again_alone(
    worker: FakeWorker, seed: Seed, database: ScratchDatabase
) -> None:
    free, locked, ending = [await started(seed, worker) for _ in range(3)]
    async with database.session() as somebody:
        await somebody.execute("BEGIN")
        await somebody.rows(
            "SELECT FROM tenure.run_leases WHERE attempt = ANY ($1::uuid[]) FOR UPDATE",
            [locked.attempt, ending.attempt],
        )
        answers = await worker.exchange(item("renew", free, locked), end(ending))
        await somebody.execute("ROLLBACK")
    assert [lease["status"] for lease in answers[0]["body"]["leases"]] == ["renewed", "retry"]
    assert statuses(answers)[1] == "busy"


async def test_a_request_id_is_optional_and_told_back(worker: FakeWorker, seed: Seed) -> None:
    work = await started(seed, worker)
    body = {"generation": worker.generation, "items": [item("renew", work)]}
    assert (await worker.send("exchange", body)).status_code == 200
    refusal = Refused(await worker.send("exchange", {"generation": worker.generation, "items": []}))
    assert refusal.problem["request_id"] not in (None, "None")
