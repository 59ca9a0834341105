"""Workers and their credentials: tokens that work, once shown, rotated, revoked."""

from __future__ import annotations

from datetime import timedelta
from uuid import uuid4

import trio

from tenure_contracts.identity import parse_worker_token
from tenure_control.operator.worker import SESSIONS_SHOWN
from tests.harness import ScratchDatabase
from tests.harness.operator import OperatorApi, OperatorClient
from tests.operator.holder import Holder, enrolled

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


async def test_a_credential_tells_when_it_was_first_used(api: OperatorApi) -> None:
    first = (await api.owner.post(CREDENTIALS, {"request_id": str(uuid4())})).json
    [unused] = (await api.owner.get(CREDENTIALS)).json["items"]
    assert owner_of(api.database, first["token"]) == "w1"
    [used] = (await api.owner.get(CREDENTIALS)).json["items"]
    assert (unused["first_used_at"], used["first_used_at"] is None) == (None, False)
    rotated = f"{CREDENTIALS}/{first['credential']}/rotate"
    await api.owner.post(rotated, {"request_id": str(uuid4())})
    [newer] = (await api.owner.get(CREDENTIALS)).json["items"]
    assert (newer["version"], newer["first_used_at"]) == (2, None)


async def test_a_second_credential_is_how_a_secret_changes_without_a_gap(api: OperatorApi) -> None:
    older = (await api.owner.post(CREDENTIALS, {"request_id": str(uuid4())})).json
    newer = (await api.owner.post(CREDENTIALS, {"request_id": str(uuid4())})).json
    assert owner_of(api.database, older["token"]) == owner_of(api.database, newer["token"]) == "w1"
    await api.owner.post(f"{CREDENTIALS}/{older['credential']}/revoke", {"request_id": str(uuid4())})
    assert owner_of(api.database, older["token"]) is None
    assert owner_of(api.database, newer["token"]) == "w1"


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
    assert (await api.owner.get("/v1/workers/w1")).json == {**busy, "sessions": [session]}
    assert (await api.owner.get("/v1/workers/idle")).json == {**idle, "sessions": []}


async def test_a_worker_is_shown_with_the_sessions_that_it_had(api: OperatorApi) -> None:
    holder = await enrolled(api, "w1", region="eu")
    other = await enrolled(api, "w2")
    sessions = [holder.session]
    for turn in range(SESSIONS_SHOWN + 2):
        api.database.shift(timedelta(minutes=2))
        holder.session, holder.labels = uuid4(), {"turn": str(turn)}
        holder.register()
        sessions.append(holder.session)
    shown = (await api.owner.get("/v1/workers/w1")).json
    told = shown["sessions"]
    assert [session["session"] for session in told] == [
        str(session) for session in reversed(sessions[-SESSIONS_SHOWN:])
    ]
    current, before, *_ = told
    assert shown["session"] == current
    assert (current["status"], current["ended_at"], current["replaced_by"]) == ("online", None, None)
    assert (before["status"], before["replaced_by"]) == ("replaced", current["session"])
    assert before["registered_at"] == before["seen_at"] < before["ended_at"] <= current["registered_at"]
    assert (before["generation"], before["agent"], before["limit"]) == (SESSIONS_SHOWN + 2, "test", 8)
    assert before["labels"] == {"turn": str(SESSIONS_SHOWN)}
    assert str(other.session) not in str(told)


DRAIN = "/v1/workers/w1/drain"


async def test_a_drain_reaches_the_live_session_and_no_later_one(api: OperatorApi) -> None:
    holder = await enrolled(api, "w1")
    body = {"request_id": str(uuid4())}
    asked = await api.owner.post(DRAIN, body)
    assert (asked.status, asked.json["session"]["drain_requested"]) == (200, True)
    assert api.recalled == [str(holder.session)]
    api.database.shift(timedelta(minutes=2))
    holder.session = uuid4()
    holder.register()
    again = await api.owner.post(DRAIN, body)
    assert (again.status, again.json["session"]["drain_requested"]) == (200, False)
    assert [each["drain_requested"] for each in again.json["sessions"]] == [False, True]
    assert len(api.recalled) == 1
    rows = api.database.rows("SELECT actor, object FROM tenure.security_audit_events WHERE action = 'drain'")
    assert [tuple(row) for row in rows] == [("operator:root", "worker:w1")]


async def test_a_drain_needs_a_session_and_a_role(api: OperatorApi) -> None:
    assert (await api.owner.post(DRAIN, {"request_id": str(uuid4())})).code == "not_found"
    await api.owner.post(CREDENTIALS, {"request_id": str(uuid4())})
    refused = {"request_id": str(uuid4())}
    assert (await api.owner.post(DRAIN, refused)).code == "state_conflict"
    viewer = await api.enrol("vera", "viewer")
    assert (await viewer.post(DRAIN, {"request_id": str(uuid4())})).code == "forbidden"
    # What was refused has not been done: the same request may succeed later.
    credential = (await api.owner.post(CREDENTIALS, {"request_id": str(uuid4())})).json
    Holder(api.database, credential["token"]).register()
    assert (await api.owner.post(DRAIN, refused)).json["session"]["drain_requested"]
