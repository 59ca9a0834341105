"""Workers and their credentials: tokens that work, once shown, rotated, revoked."""

from __future__ import annotations

from uuid import uuid4

import trio

from tenure_contracts.identity import parse_worker_token
from tests.harness import ScratchDatabase
from tests.harness.operator import OperatorApi, OperatorClient
from tests.operator.holder import enrolled

CREDENTIALS = "/v1/workers/w1/credentials"


def owner_of(database: ScratchDatabase, token: str) -> str | None:
    parsed = parse_worker_token(token)
    worker: str | None = database.value(
        "SELECT tenure.authenticate_worker($1, $2, tenure.clock())", parsed.id, parsed.secret_digest
    )
    return worker


async def test_a_token_is_shown_once(api: OperatorApi) -> None:
    body = {"request_id": str(uuid4())}
    issued = await api.owner.post(CREDENTIALS, body)
    again = await api.owner.post(CREDENTIALS, body)
    assert (issued.status, issued.json["version"], issued.json["replayed"]) == (201, 1, False)
    assert owner_of(api.database, issued.json["token"]) == "w1"
    assert again.status == 200
    assert again.json == {
        "credential": issued.json["credential"],
        "worker": "w1",
        "version": 1,
        "replayed": True,
    }
    assert issued.json["token"] not in str(api.database.rows("SELECT * FROM tenure.worker_credentials"))


async def test_one_request_sent_at_once_issues_one_credential(api: OperatorApi) -> None:
    body, answers = {"request_id": str(uuid4())}, []

    async def issue() -> None:
        answers.append(await api.owner.post(CREDENTIALS, body))

    async with trio.open_nursery() as nursery:
        for _ in range(4):
            nursery.start_soon(issue)
    assert sorted(answer.status for answer in answers) == [200, 200, 200, 201]
    assert len({answer.json["credential"] for answer in answers}) == 1


async def test_a_request_id_of_another_worker_is_a_conflict(owner: OperatorClient) -> None:
    body = {"request_id": str(uuid4())}
    await owner.post(CREDENTIALS, body)
    assert (await owner.post("/v1/workers/w2/credentials", body)).code == "idempotency_conflict"


async def test_rotation_ends_the_older_token(api: OperatorApi) -> None:
    first = (await api.owner.post(CREDENTIALS, {"request_id": str(uuid4())})).json
    body = {"request_id": str(uuid4())}
    path = f"{CREDENTIALS}/{first['credential']}/rotate"
    second, again = await api.owner.post(path, body), await api.owner.post(path, body)
    assert (second.status, second.json["version"], again.status) == (201, 2, 200)
    assert "token" not in again.json
    assert owner_of(api.database, first["token"]) is None
    assert owner_of(api.database, second.json["token"]) == "w1"
    [listed] = (await api.owner.get(CREDENTIALS)).json["items"]
    assert (listed["version"], listed["state"]) == (2, "active")


async def test_a_revoked_credential_stays_revoked(api: OperatorApi) -> None:
    first = (await api.owner.post(CREDENTIALS, {"request_id": str(uuid4())})).json
    path, body = f"{CREDENTIALS}/{first['credential']}", {"request_id": str(uuid4())}
    for _ in range(2):
        assert (await api.owner.post(f"{path}/revoke", body)).json["state"] == "revoked"
    assert owner_of(api.database, first["token"]) is None
    assert (await api.owner.post(f"{path}/rotate", {"request_id": str(uuid4())})).code == "state_conflict"


async def test_a_credential_belongs_to_its_worker(owner: OperatorClient) -> None:
    first = (await owner.post(CREDENTIALS, {"request_id": str(uuid4())})).json
    for verb in ("rotate", "revoke"):
        other = f"/v1/workers/w2/credentials/{first['credential']}/{verb}"
        assert (await owner.post(other, {"request_id": str(uuid4())})).code == "not_found"


async def test_bad_requests(owner: OperatorClient) -> None:
    assert (
        await owner.post("/v1/workers/W%201/credentials", {"request_id": str(uuid4())})
    ).code == "invalid_field"
    assert (await owner.post(CREDENTIALS, {})).code == "invalid_field"
    assert (await owner.post(CREDENTIALS, {"request_id": "x"})).code == "invalid_field"
    assert (await owner.get("/v1/workers/none")).code == "not_found"


async def test_workers_are_shown_with_their_sessions(api: OperatorApi, shop: str) -> None:
    await api.owner.post("/v1/workers/idle/credentials", {"request_id": str(uuid4())})
    holder = await enrolled(api, "w1", region="eu")
    await api.owner.post(f"{shop}/runs", {"task": "hello", "idempotency_key": "k"})
    holder.claim()
    idle, busy = await api.owner.pages("/v1/workers", limit=1)
    assert idle == {"worker": "idle", "session": None}
    session = busy["session"]
    assert (session["session"], session["generation"], session["status"]) == (
        str(holder.session),
        1,
        "online",
    )
    assert (session["labels"], session["leases"], session["limit"]) == ({"region": "eu"}, 1, 8)
    assert (await api.owner.get("/v1/workers/w1")).json == busy
