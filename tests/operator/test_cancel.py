"""A run is cancelled: the intent on the run, the stop on its lease, and both in that order."""

from __future__ import annotations

from uuid import uuid4

import trio

from tests.database.worker import open_worker
from tests.harness.operator import Answer, OperatorApi, OperatorClient
from tests.operator.holder import Holder, enrolled
from tests.operator.test_run import RUNS, start


async def cancel(client: OperatorClient, run: str, request_id: str | None = None, note: str = "") -> Answer:
    body = {"request_id": request_id or str(uuid4()), "note": note}
    return await client.post(f"{RUNS}/{run}/cancel", body)


def stop_of(api: OperatorApi, holder: Holder) -> str | None:
    reason: str | None = api.database.value(
        "SELECT stop_reason FROM tenure.run_leases WHERE attempt = $1", holder.attempt
    )
    return reason


async def held(api: OperatorApi) -> tuple[str, Holder]:
    """A run that a worker has claimed."""
    run, holder = await start(api.owner), await enrolled(api)
    holder.claim()
    return run, holder


async def test_a_cancel_is_an_intent_on_the_run_and_a_stop_on_its_lease(api: OperatorApi, shop: str) -> None:
    run, holder = await held(api)
    answer = await cancel(api.owner, run, note="wrong day")
    assert answer.status == 200, answer.body
    assert answer.json["cancel"]["reason"] == "user"
    assert answer.json["status"] == "dispatching"  # an intent never claims that anything stopped
    assert stop_of(api, holder) == "user"
    events = [event["type"] for event in await api.owner.pages(f"{RUNS}/{run}/events")]
    assert events[-1] == "run.cancel_requested"
    [detail] = api.database.rows(
        "SELECT detail ->> 'note' AS note FROM tenure.security_audit_events WHERE action = 'cancel'"
    )
    assert detail["note"] == "wrong day"


async def test_the_first_intent_stands(api: OperatorApi, shop: str) -> None:
    run, request_id = await start(api.owner), str(uuid4())
    first = await cancel(api.owner, run, request_id)
    again = await cancel(api.owner, run, request_id)
    other = await cancel(api.owner, run)
    assert first.json == again.json == other.json
    events = [event["type"] for event in await api.owner.pages(f"{RUNS}/{run}/events")]
    assert events.count("run.cancel_requested") == 1


async def test_a_deadline_that_stopped_it_already_stays(api: OperatorApi, shop: str) -> None:
    run, holder = await held(api)
    api.database.execute("UPDATE tenure.run_leases SET stop_reason = 'timeout', stop_requested_at = now()")
    assert (await cancel(api.owner, run)).json["cancel"]["reason"] == "user"
    assert stop_of(api, holder) == "timeout"


async def test_what_has_ended_cannot_be_cancelled(api: OperatorApi, shop: str) -> None:
    run = await start(api.owner)
    api.database.execute(
        "UPDATE tenure.run_attempts SET status = 'cancelled', dispatchable = false, ended_at = now();"
        "UPDATE tenure.runs SET status = 'cancelled', finished_at = now()"
    )
    answer = await cancel(api.owner, run)
    assert (answer.status, answer.code) == (409, "state_conflict")
    assert "cancelled" in answer.json["detail"]


async def test_unknown_runs_and_those_of_other_projects(api: OperatorApi, shop: str) -> None:
    run = await start(api.owner)
    await api.owner.put("/v1/projects/other", {})
    for path in (f"{RUNS}/{uuid4()}", f"{RUNS}/nonsense", f"/v1/projects/other/runs/{run}"):
        answer = await api.owner.post(f"{path}/cancel", {"request_id": str(uuid4())})
        assert (answer.status, answer.code) == (404, "not_found"), path
    assert (await api.owner.get(f"{RUNS}/{run}")).json["cancel"] is None


async def test_a_cancel_reaches_the_lease_that_was_being_claimed_meanwhile(
    api: OperatorApi, shop: str
) -> None:
    """The claim holds the run, and its lease is not visible when the cancel begins to wait for it."""
    run = await start(api.owner)
    issued = await api.owner.post("/v1/workers/w1/credentials", {"request_id": str(uuid4())})
    async with open_worker(api.database, issued.json["token"]) as worker, trio.open_nursery() as nursery:
        await worker.connection.execute("BEGIN")
        await worker.claim()
        nursery.start_soon(cancel, api.owner, run)
        await api.database.wait_until_blocked()
        await worker.connection.execute("COMMIT")
    assert api.database.value("SELECT stop_reason FROM tenure.run_leases") == "user"
