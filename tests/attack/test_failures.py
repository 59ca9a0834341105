"""Guessing, over real sockets: who fails too often is answered before the body, and disturbs nobody else."""

from __future__ import annotations

import json
import re
import secrets
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import pytest
import trio

from tenure_contracts.error import CODES
from tenure_contracts.identity import encode_secret
from tests.harness import ScratchDatabase
from tests.harness.fake_worker import FakeWorker, Refused, item, open_fake_worker, refused
from tests.harness.ingress import RunningIngress, open_ingress
from tests.harness.seed import Seed

PER_PEER = 5
HEARTBEAT = json.dumps({"request_id": str(uuid4()), "generation": 1}).encode()
ANSWER_S = 5.0


@dataclass(frozen=True)
class Answer:
    """What came back, byte for byte."""

    head: bytes
    body: bytes

    @property
    def status(self) -> int:
        return int(self.head.split(b" ", 2)[1])

    @property
    def code(self) -> str:
        return str(json.loads(self.body)["code"])

    @property
    def retry_after_s(self) -> int:
        found = re.search(rb"(?i)retry-after: (\d+)\r\n", self.head)
        assert found, self.head
        return int(found[1])


async def ask(
    ingress: RunningIngress,
    token: str | None,
    *,
    peer: str = "127.0.0.1",
    body: bytes = HEARTBEAT,
    length: int | None = None,
    path: str = f"/v1/sessions/{uuid4()}/heartbeat",
) -> Answer:
    """One request on a connection of its own. `length`: what the head says of a body that may never come."""
    lines = [f"POST {path} HTTP/1.1", "Host: x", "Content-Type: application/json", "Connection: close"]
    lines += [f"Content-Length: {len(body) if length is None else length}"]
    lines += [] if token is None else [f"Authorization: Bearer {token}"]
    host, _, port = ingress.url.removeprefix("http://").rpartition(":")
    with trio.fail_after(ANSWER_S):
        async with await trio.open_tcp_stream(host, int(port), local_address=peer) as stream:
            await stream.send_all("\r\n".join([*lines, "", ""]).encode() + body)
            data = b"".join([piece async for piece in stream])
    head, _, content = data.partition(b"\r\n\r\n")
    return Answer(head + b"\r\n", content)


def guess() -> str:
    """A token that is well formed and nobody's."""
    return f"tw1_{secrets.token_hex(8)}_{encode_secret(secrets.token_bytes(32))}"


async def spend(ingress: RunningIngress, **how: Any) -> None:
    """Fail until the budget of a peer is empty."""
    for _ in range(PER_PEER):
        assert (await ask(ingress, guess(), **how)).code == "credential_refused"


async def test_who_failed_too_often_is_answered_before_the_body(database: ScratchDatabase) -> None:
    async with open_ingress(database, failures_per_peer=PER_PEER) as ingress:
        await spend(ingress)
        answer = await ask(ingress, guess(), body=b"", length=10_000)
        assert (answer.status, answer.code) == (429, "too_many_failures")
        assert 1 <= answer.retry_after_s <= 12
        assert json.loads(answer.body)["disposition"] == CODES["too_many_failures"].disposition
        assert (await ask(ingress, None, body=b"", length=10_000)).status == 429
        assert (await ask(ingress, guess(), peer="127.0.0.2")).status == 401


@pytest.mark.parametrize("token", [None, "", "tw1", "tw1_short_x", "to1_" + "a" * 8 + "_" + "A" * 43])
async def test_what_is_no_token_is_refused_before_the_body_and_counts(
    database: ScratchDatabase, token: str | None
) -> None:
    async with open_ingress(database, failures_per_peer=PER_PEER) as ingress:
        for _ in range(PER_PEER):
            assert (await ask(ingress, token, body=b"", length=10_000)).status == 401
        assert (await ask(ingress, token)).status == 429


async def test_a_path_that_is_no_route_costs_no_budget(database: ScratchDatabase) -> None:
    async with open_ingress(database, failures_per_peer=PER_PEER) as ingress:
        for _ in range(PER_PEER + 1):
            assert (await ask(ingress, guess(), path="/v1/nothing")).status == 404
        assert (await ask(ingress, guess())).status == 401


async def test_an_unknown_credential_and_a_wrong_secret_are_one_answer(
    database: ScratchDatabase, seed: Seed
) -> None:
    async with open_ingress(database) as ingress:
        _, known, _ = seed.credential("w1").split("_", 2)
        wrong = f"tw1_{known}_{encode_secret(bytes(32))}"
        answers = [await ask(ingress, wrong), await ask(ingress, guess())]
    same = [(re.sub(rb"(?i)date: [^\r]*\r\n", b"", answer.head), answer.body) for answer in answers]
    assert json.loads(HEARTBEAT)["request_id"].encode() in answers[0].body
    assert same[0] == same[1]


async def test_a_broken_neighbour_does_not_stop_a_worker_at_work(
    database: ScratchDatabase, seed: Seed
) -> None:
    async with (
        open_ingress(database, failures_per_peer=PER_PEER) as ingress,
        open_fake_worker(ingress.url, seed.credential("w1")) as worker,
    ):
        await worker.register()
        await spend(ingress)
        assert (await ask(ingress, guess())).status == 429
        for _ in range(3):
            await worker.heartbeat()


async def test_many_addresses_do_not_stop_a_fleet_at_work(database: ScratchDatabase, seed: Seed) -> None:
    async with (
        open_ingress(database, failures_per_peer=PER_PEER, failures=2 * PER_PEER) as ingress,
        open_fake_worker(ingress.url, seed.credential("w1")) as worker,
        open_fake_worker(ingress.url, seed.credential("w2")) as stranger,
    ):
        await worker.register()
        for number in range(2 * PER_PEER):
            assert (await ask(ingress, guess(), peer=f"127.0.1.{number}")).status == 401
        assert (await ask(ingress, guess(), peer="127.0.2.1")).status == 429
        await worker.heartbeat()
        with refused("too_many_failures"):
            await stranger.register()


async def test_a_credential_that_was_revoked_fails_like_any_other(
    database: ScratchDatabase, seed: Seed
) -> None:
    async with (
        open_ingress(database, failures_per_peer=PER_PEER) as ingress,
        open_fake_worker(ingress.url, seed.credential("w1")) as worker,
    ):
        await worker.register()
        database.execute("UPDATE tenure.worker_credentials SET state = 'revoked'")
        codes = []
        for _ in range(PER_PEER + 1):
            with pytest.raises(Refused) as caught:
                await worker.heartbeat()
            codes.append(caught.value.code)
    assert codes == ["credential_refused"] * PER_PEER + ["too_many_failures"]


ITEMS = (
    {"call": "dance"},
    {"call": "offers", "request_id": str(uuid4()), "offers": [], "wait_s": 0},
    {"call": "logs", "request_id": str(uuid4())},
)


async def test_an_exchange_of_nothing_that_reaches_the_database_is_authenticated_all_the_same(
    database: ScratchDatabase, seed: Seed
) -> None:
    async with (
        open_ingress(database, failures_per_peer=PER_PEER) as ingress,
        open_fake_worker(ingress.url, seed.credential("w1")) as worker,
    ):
        await worker.register()
        assert {answer["status"] for answer in await worker.exchange(*ITEMS)} <= {400, 501}
        thief = FakeWorker(worker.http, guess())
        for _ in range(PER_PEER):
            with refused("credential_refused"):
                await thief.exchange(*ITEMS)
        with refused("too_many_failures"):
            await thief.exchange(item("offers", offers=[], wait_s=0))


async def test_what_was_refused_is_one_row_of_the_audit(database: ScratchDatabase) -> None:
    async with open_ingress(database, failures_per_peer=PER_PEER) as ingress:
        token = guess()
        for _ in range(PER_PEER + 2):
            await ask(ingress, token)
        await ask(ingress, None, peer="127.0.0.2")
        assert await ingress.stop() == 0
    (row,) = database.rows(
        "SELECT actor, object, request_id, detail::text AS detail FROM tenure.security_audit_events"
        " WHERE action = 'authentication.refusals'"
    )
    assert (row["actor"], row["object"][:8], row["request_id"]) == ("ingress", "process:", None)
    detail = json.loads(row["detail"])
    codes = {"credential_refused": PER_PEER, "too_many_failures": 2, "credential_required": 1}
    assert detail["codes"] == codes
    _, credential, secret = token.split("_", 2)
    most = {"code": "credential_refused", "peer": "127.0.0.1", "credential": credential, "count": PER_PEER}
    assert detail["most"][0] == most
    assert secret not in row["detail"]
