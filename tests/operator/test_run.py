"""Runs as they are shown: lists, filters, cursors, events, attempts, and what needs attention."""

from __future__ import annotations

from datetime import datetime, timedelta
from uuid import UUID, uuid4

from tenure_control.repository.view.runs import QUERIES
from tests.harness.operator import OperatorApi, OperatorClient
from tests.operator.conftest import SHOP
from tests.operator.holder import Holder, enrolled

RUNS = f"{SHOP}/runs"


async def start(client: OperatorClient, key: str = "k", task: str = "hello") -> str:
    answer = await client.post(RUNS, {"task": task, "input": {"day": "mon"}, "idempotency_key": key})
    assert answer.status == 201, answer.body
    return str(answer.json["run"])


async def attention(client: OperatorClient, run: str) -> tuple[str | None, datetime | None]:
    view = (await client.get(f"{RUNS}/{run}")).json
    [listed] = (await client.get(RUNS)).json["items"]
    assert listed == view
    since = view["attention_since"]
    return view["attention"], since and datetime.fromisoformat(since)


async def test_a_run_has_the_fields_of_the_wire(owner: OperatorClient, shop: str) -> None:
    view = (await owner.get(f"{RUNS}/{await start(owner)}")).json
    fixed = (
        "run project kind task revision status version attempts created_at queued_at started_at finished_at "
        "cancel error output attention attention_since"
    )
    assert set(fixed.split()) <= set(view)
    assert (view["project"], view["kind"], view["version"], view["attempts"]) == ("shop", "task", 2, 1)
    assert view["created_at"].endswith("Z")
    assert "workflow" not in view


async def test_runs_are_listed_newest_first_by_pages(owner: OperatorClient, shop: str) -> None:
    runs = [await start(owner, f"k{number}") for number in range(5)]
    listed = [item["run"] for item in await owner.pages(RUNS, limit=2)]
    assert listed == runs[::-1]


async def test_filters(api: OperatorApi, shop: str) -> None:
    owner = api.owner
    hello, report = await start(owner, "a"), await start(owner, "b", "report")
    await owner.put(f"{shop}/triggers/t", {"task": "hello", "cron": "@daily", "timezone": "UTC"})
    fired = (await owner.post(f"{shop}/triggers/t/fire", {"request_id": str(uuid4())})).json
    holder = await enrolled(api)
    holder.claim()

    async def listed(**filters: str) -> list[str]:
        return [item["run"] for item in await owner.pages(RUNS, limit=1, **filters)]

    assert await listed(task="report") == [report]
    assert await listed(trigger="t") == [fired["run"]]
    assert await listed(status="dispatching") == [hello]
    assert await listed(status="queued", task="hello") == [fired["run"]]
    assert await listed(since=fired["created_at"]) == [fired["run"]]
    assert await listed(task="none") == []


BAD_QUERIES = {
    "limit=0": "invalid_field",
    "limit=201": "invalid_field",
    "limit=x": "invalid_field",
    "cursor=!!": "invalid_field",
    "cursor=bm8": "invalid_field",
    "status=done": "invalid_field",
    "since=yesterday": "invalid_field",
    "task=A%20B": "invalid_field",
    "tsak=a": "unknown_field",
    "task=a&task=b": "malformed_request",
}


async def test_a_bad_query_is_refused(owner: OperatorClient, shop: str) -> None:
    for query, code in BAD_QUERIES.items():
        assert (await owner.get(f"{RUNS}?{query}")).code == code, query


async def test_a_run_that_is_not_there(owner: OperatorClient, shop: str) -> None:
    for run in ("x", str(UUID(int=7)), "0190a3c85e0c7f3a9d512f6f0c3f1b77"):
        for path in (f"{RUNS}/{run}", f"{RUNS}/{run}/events", f"{RUNS}/{run}/attempts"):
            assert (await owner.get(path)).code == "not_found"


async def test_events_and_attempts_tell_the_story(api: OperatorApi, shop: str) -> None:
    run, holder = await start(api.owner), await enrolled(api)
    holder.claim()
    holder.start()
    holder.complete("failed", 3)
    events = await api.owner.pages(f"{RUNS}/{run}/events", limit=2)
    assert [event["sequence"] for event in events] == list(range(1, len(events) + 1))
    assert events[0] == {
        "sequence": 1,
        "type": "run.queued",
        "from": None,
        "to": "queued",
        "actor": "operator:root",
        "at": events[0]["at"],
        "payload": {"cause": "manual"},
    }
    assert events[-1]["type"] == "run.failed"
    [attempt] = await api.owner.pages(f"{RUNS}/{run}/attempts")
    assert (attempt["number"], attempt["try"], attempt["status"], attempt["worker"]) == (1, 1, "failed", "w1")
    assert (attempt["exit_code"], attempt["error"]["code"], attempt["step"]) == (3, "exit_code", None)
    view = (await api.owner.get(f"{RUNS}/{run}")).json
    assert (view["status"], view["error"]["code"], view["attention"]) == ("failed", "exit_code", None)


async def test_the_output_is_shown_as_it_was_reported(api: OperatorApi, shop: str) -> None:
    run, holder = await start(api.owner), await enrolled(api)
    holder.claim()
    holder.start()
    holder.complete("succeeded", 0, '{"rows": [1, 2.50]}')
    view = await api.owner.get(f"{RUNS}/{run}")
    assert b'"output":{"rows": [1, 2.50]}' in view.body


async def test_work_without_a_matching_worker_needs_attention(api: OperatorApi, shop: str) -> None:
    await api.owner.put(f"{shop}/tasks/eu", {"command": ["x"], "placement": {"require": {"region": "eu"}}})
    run = await start(api.owner, task="eu")
    queued = datetime.fromisoformat((await api.owner.get(f"{RUNS}/{run}")).json["queued_at"])
    assert await attention(api.owner, run) == ("no_worker_matches", queued)
    await enrolled(api, "us", region="us")
    assert await attention(api.owner, run) == ("no_worker_matches", queued)
    match = await enrolled(api, "eu", region="eu")
    assert await attention(api.owner, run) == (None, None)
    match.claim()
    assert await attention(api.owner, run) == (None, None)


async def test_a_class_that_no_session_has_looked_at_is_matched_all_the_same(
    api: OperatorApi, shop: str
) -> None:
    await enrolled(api, "eu", region="eu")
    await api.owner.put(f"{shop}/tasks/eu", {"command": ["x"], "placement": {"require": {"region": "eu"}}})
    await api.owner.put(f"{shop}/tasks/us", {"command": ["x"], "placement": {"require": {"region": "us"}}})
    run = await start(api.owner, task="eu")
    assert await attention(api.owner, run) == (None, None)
    other = (await api.owner.post(RUNS, {"task": "us", "idempotency_key": "us"})).json
    assert other["attention"] == "no_worker_matches"


async def test_a_worker_that_fell_silent_matches_nothing(api: OperatorApi, shop: str) -> None:
    run = await start(api.owner)
    await enrolled(api)
    assert (await attention(api.owner, run))[0] is None
    api.database.shift(timedelta(minutes=2))
    assert (await attention(api.owner, run))[0] == "no_worker_matches"


async def test_started_work_whose_lease_ran_out_waits_for_evidence(api: OperatorApi, shop: str) -> None:
    run, holder = await start(api.owner), await enrolled(api)
    holder.claim()
    holder.start()
    assert await attention(api.owner, run) == (None, None)
    api.database.shift(timedelta(seconds=31))
    expired = api.database.value("SELECT expires_at FROM tenure.run_leases")
    assert await attention(api.owner, run) == ("waiting_for_evidence", expired)


async def test_an_unstarted_lease_that_ran_out_needs_nobody(api: OperatorApi, shop: str) -> None:
    run, holder = await start(api.owner), await enrolled(api)
    holder.claim()
    api.database.shift(timedelta(seconds=31))
    assert await attention(api.owner, run) == (None, None)


async def test_work_that_eight_sessions_declined_needs_attention(api: OperatorApi, shop: str) -> None:
    run = await start(api.owner)
    for number in range(8):
        assert (await attention(api.owner, run))[0] in (None, "no_worker_matches")
        await _decline(await enrolled(api, f"w{number}"))
    eighth = api.database.value("SELECT max(declined_at) FROM tenure.attempt_declines")
    assert await attention(api.owner, run) == ("declined", eighth)


async def _decline(holder: Holder) -> None:
    holder.claim()
    holder.decline()


async def test_a_page_is_read_through_its_index(api: OperatorApi, shop: str) -> None:
    """Neither a page nor one run may look at the whole project."""
    orders = [{"task": "hello", "idempotency_key": f"k{number}"} for number in range(500)]
    run = UUID((await api.owner.post(RUNS, {"runs": orders})).json["runs"][250]["run"])
    api.database.execute("ANALYZE; SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off")
    page = ("shop", None, run, None, None, None, None, 33)
    single = ("shop", [run], None, None, None, None, None, 1)
    for arguments in (page, single):
        plan = [row[0] for row in api.database.rows(f"EXPLAIN (COSTS off) {QUERIES['runs']}", *arguments)]
        assert any("Index Cond" in line and "run = ANY" in line for line in plan)
        assert not any("Seq Scan on runs" in line for line in plan)
