"""Publishing one definition at a time: revisions, replays, If-Match, and what a trigger pins."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
import trio

from tenure_contracts.definition import decode_task_spec
from tenure_contracts.digest import TASK_DOMAIN, digest_of_text
from tests.harness.operator import OperatorApi, OperatorClient

NIGHTLY = {"task": "hello", "cron": "30 2 * * *", "timezone": "Europe/Berlin"}


async def test_a_change_makes_the_next_revision_and_a_repetition_none(
    owner: OperatorClient, shop: str
) -> None:
    path = f"{shop}/tasks/hello"
    second = await owner.put(path, {"command": ["echo", "other"]})
    again = await owner.put(path, {"command": ["echo", "other"], "priority": 5, "kill_grace": "10s"})
    assert (second.status, second.json["revision"], second.headers["ETag"]) == (201, 2, '"2"')
    assert (again.status, again.json) == (200, second.json)
    first = await owner.get(f"{path}/revisions/1")
    assert first.json["definition"]["plan"]["argv"] == ["echo", "hello"]
    assert (await owner.get(path)).json == second.json
    assert (await owner.get(f"{path}/revisions/3")).code == "not_found"
    assert (await owner.get(f"{path}/revisions/x")).code == "not_found"


async def test_a_revision_is_stored_as_its_digest_covers_it(api: OperatorApi, shop: str) -> None:
    definition = {
        "command": ["x"],
        "priority": 7,
        "timeout": "90s",
        "placement": {"require": {"region": "eu"}},
        "retry": {"max_attempts": 3, "on": ["failed"], "backoff": {"base": "1s", "factor": 2, "cap": "10s"}},
        "exit_codes": {"75": "retry"},
    }
    assert (await api.owner.put(f"{shop}/tasks/full", definition)).status == 201
    [row] = api.database.rows(
        "SELECT r.*, c.placement FROM tenure.task_revisions r JOIN tenure.placement_classes c USING (class)"
        " WHERE task = 'full'"
    )
    assert digest_of_text(TASK_DOMAIN, row["spec"]) == row["digest"]
    spec = decode_task_spec(row["spec"])
    assert (row["priority"], row["timeout_us"], row["created_by"]) == (7, 90_000_000, "root")
    assert spec.retry.delays_us == (1_000_000, 2_000_000)
    assert '"region": "eu"' in row["placement"]


async def test_equal_placements_share_a_class(api: OperatorApi, shop: str) -> None:
    classes = api.database.value("SELECT count(DISTINCT class) FROM tenure.task_revisions")
    assert classes == 1 == api.database.value("SELECT count(*) FROM tenure.placement_classes")


@pytest.mark.parametrize(("match", "status"), [("1", 201), ('"1"', 201), ("2", 412), ("0", 412), ("*", 400)])
async def test_if_match_names_the_revision_to_replace(
    owner: OperatorClient, shop: str, match: str, status: int
) -> None:
    answer = await owner.put(f"{shop}/tasks/hello", {"command": ["other"]}, if_match=match)
    assert answer.status == status
    if status == 412:
        assert answer.json["current_revision"] == 1


async def test_if_match_of_a_repetition_names_the_revision_from_before(
    owner: OperatorClient, shop: str
) -> None:
    for expected in (201, 200):
        answer = await owner.put(f"{shop}/tasks/hello", {"command": ["other"]}, if_match="1")
        assert answer.status == expected
    assert (await owner.put(f"{shop}/tasks/new", {"command": ["new"]}, if_match="0")).status == 201


async def test_two_publishers_at_once_make_two_revisions(owner: OperatorClient, shop: str) -> None:
    answers = []

    async def publish(number: int) -> None:
        answers.append(await owner.put(f"{shop}/tasks/new", {"command": [str(number % 2)]}))

    async with trio.open_nursery() as nursery:
        for number in range(6):
            nursery.start_soon(publish, number)
    assert all(answer.status in (200, 201) for answer in answers)
    made = [answer.json["revision"] for answer in answers if answer.status == 201]
    assert sorted(made) == list(range(1, len(made) + 1))


async def test_a_trigger_pins_the_revision_of_its_task(api: OperatorApi, shop: str) -> None:
    made = await api.owner.put(f"{shop}/triggers/nightly", NIGHTLY)
    assert (made.status, made.json["task"], made.json["task_revision"]) == (201, "hello", 1)
    await api.owner.put(f"{shop}/tasks/hello", {"command": ["other"]})
    assert (await api.owner.get(f"{shop}/triggers/nightly")).json["task_revision"] == 1
    again = await api.owner.put(f"{shop}/triggers/nightly", NIGHTLY)
    assert (again.status, again.json["revision"], again.json["task_revision"]) == (201, 2, 2)
    assert (await api.owner.put(f"{shop}/triggers/nightly", NIGHTLY)).status == 200


async def test_a_trigger_shows_its_next_five_times(owner: OperatorClient, shop: str) -> None:
    made = await owner.put(f"{shop}/triggers/nightly", NIGHTLY)
    fires = [datetime.fromisoformat(text) for text in made.json["next_fire_at"]]
    assert len(fires) == 5
    assert fires == sorted(set(fires))
    assert all((fire.minute, fire.second) == (30, 0) for fire in fires)
    assert (await owner.get(f"{shop}/triggers")).json["items"] == [made.json]


async def test_start_and_end_bound_the_times_that_are_shown(owner: OperatorClient, shop: str) -> None:
    bounded = {**NIGHTLY, "timezone": "UTC", "start": "2090-01-01T02:30:00Z", "end": "2090-01-03T00:00:00Z"}
    made = await owner.put(f"{shop}/triggers/nightly", bounded)
    assert made.json["next_fire_at"] == ["2090-01-01T02:30:00.000000Z", "2090-01-02T02:30:00.000000Z"]


async def test_a_trigger_that_is_not_enabled_is_never_due(api: OperatorApi, shop: str) -> None:
    made = await api.owner.put(f"{shop}/triggers/nightly", {**NIGHTLY, "enabled": False})
    assert made.json["next_fire_at"] == []
    assert api.database.value("SELECT due_at FROM tenure.trigger_cursors") is None


async def test_a_new_trigger_is_due_at_once_and_says_so(api: OperatorApi, shop: str) -> None:
    woken = api.woken
    await api.owner.put(f"{shop}/triggers/nightly", NIGHTLY)
    [cursor] = api.database.rows("SELECT *, due_at <= tenure.clock() AS due FROM tenure.trigger_cursors")
    assert (cursor["state"], cursor["revision"], cursor["next_fire_at"], cursor["due"]) == (
        "idle",
        1,
        None,
        True,
    )
    [event] = api.database.rows("SELECT * FROM tenure.trigger_events")
    assert (event["sequence"], event["type"], event["actor"]) == (1, "trigger.published", "operator:root")
    assert api.woken == woken + 1


async def test_a_new_revision_ends_the_claim_on_the_cursor(api: OperatorApi, shop: str) -> None:
    await api.owner.put(f"{shop}/triggers/nightly", NIGHTLY)
    api.database.execute(
        "UPDATE tenure.trigger_cursors"
        " SET state = 'claimed', claim_owner = 'a', claim_token = gen_random_uuid(),"
        " claim_expires_at = tenure.clock(), next_fire_at = tenure.clock() + interval '1 day',"
        " last_fire_at = tenure.clock()"
    )
    await api.owner.put(f"{shop}/triggers/nightly", {**NIGHTLY, "cron": "0 3 * * *"})
    [cursor] = api.database.rows("SELECT * FROM tenure.trigger_cursors")
    assert (cursor["state"], cursor["claim_owner"], cursor["next_fire_at"]) == ("idle", None, None)
    assert (cursor["revision"], cursor["state_version"], cursor["event_sequence"]) == (2, 2, 2)
    assert cursor["last_fire_at"] is not None


async def test_an_unchanged_trigger_keeps_its_schedule(api: OperatorApi, shop: str) -> None:
    await api.owner.put(f"{shop}/triggers/nightly", NIGHTLY)
    api.database.execute("UPDATE tenure.trigger_cursors SET next_fire_at = tenure.clock() + interval '1 day'")
    before = api.database.rows("SELECT * FROM tenure.trigger_cursors")
    assert (await api.owner.put(f"{shop}/triggers/nightly", NIGHTLY)).status == 200
    assert api.database.rows("SELECT * FROM tenure.trigger_cursors") == before


async def test_what_is_archived_is_not_published(api: OperatorApi, shop: str) -> None:
    await api.owner.put(f"{shop}/triggers/nightly", NIGHTLY)
    api.database.execute("UPDATE tenure.trigger_heads SET state = 'archived'")
    assert (await api.owner.put(f"{shop}/triggers/nightly", NIGHTLY)).code == "archived"
    api.database.execute("UPDATE tenure.task_heads SET state = 'archived'")
    assert (await api.owner.put(f"{shop}/tasks/hello", {"command": ["x"]})).code == "archived"


async def test_a_definition_needs_its_project(owner: OperatorClient) -> None:
    assert (await owner.put("/v1/projects/none/tasks/t", {"command": ["x"]})).code == "not_found"


async def test_pause_and_resume(api: OperatorApi, shop: str) -> None:
    path = f"{shop}/triggers/nightly"
    await api.owner.put(path, NIGHTLY)
    pause, resume = _noted("holidays"), _noted()
    paused = await api.owner.post(f"{path}/pause", pause)
    assert (paused.status, paused.json["state"], paused.json["next_fire_at"]) == (200, "paused", [])
    assert api.database.value("SELECT due_at FROM tenure.trigger_cursors") is None
    await api.owner.put(path, {**NIGHTLY, "grace": "1m"})
    assert api.database.value("SELECT due_at FROM tenure.trigger_cursors") is None
    resumed = await api.owner.post(f"{path}/resume", resume)
    assert (resumed.json["state"], len(resumed.json["next_fire_at"])) == ("active", 5)
    assert api.database.value("SELECT due_at <= tenure.clock() FROM tenure.trigger_cursors")
    types = [
        row["type"] for row in api.database.rows("SELECT type FROM tenure.trigger_events ORDER BY sequence")
    ]
    assert types == ["trigger.published", "trigger.paused", "trigger.published", "trigger.resumed"]
    # The pause arrives once more, late: it was done, and it is not done again.
    assert (await api.owner.post(f"{path}/pause", pause)).json["state"] == "active"


async def test_a_request_id_stands_for_one_thing(api: OperatorApi, shop: str) -> None:
    path = f"{shop}/triggers/nightly"
    await api.owner.put(path, NIGHTLY)
    body = _noted()
    await api.owner.post(f"{path}/pause", body)
    assert (await api.owner.post(f"{path}/resume", body)).code == "idempotency_conflict"
    other = await api.enrol("ann", "owner")
    assert (await other.post(f"{path}/pause", body)).code == "idempotency_conflict"
    assert (await api.owner.get(path)).json["state"] == "paused"


async def test_one_pause_sent_twice_at_once_happens_once(api: OperatorApi, shop: str) -> None:
    path, body = f"{shop}/triggers/nightly", _noted()
    await api.owner.put(path, NIGHTLY)
    async with trio.open_nursery() as nursery:
        for _ in range(4):
            nursery.start_soon(api.owner.post, f"{path}/pause", body)
    assert api.database.value("SELECT event_sequence FROM tenure.trigger_cursors") == 2
    assert api.database.value("SELECT count(*) FROM tenure.security_audit_events WHERE action = 'pause'") == 1


async def test_fire_starts_one_run_of_the_trigger_now(api: OperatorApi, shop: str) -> None:
    path, body = f"{shop}/triggers/nightly", _noted("now")
    definition = {**NIGHTLY, "task": "report", "input": {"day": "{{ scheduled_for.iso }}"}}
    await api.owner.put(path, definition)
    fired = await api.owner.post(f"{path}/fire", body)
    api.database.shift(timedelta(seconds=5))
    again = await api.owner.post(f"{path}/fire", body)
    assert (fired.status, again.status) == (201, 200)
    assert again.json == {**fired.json, "replayed": True}
    run = fired.json
    assert (run["trigger"], run["cause"], run["scheduled_for"]) == ("nightly", "manual", None)
    assert datetime.fromisoformat(run["input"]["day"]).tzinfo is not None
    assert (api.dispatched, api.database.value("SELECT count(*) FROM tenure.runs")) == (1, 1)
    assert api.database.value("SELECT due_at <= tenure.clock() FROM tenure.trigger_cursors")


async def test_fire_respects_overlap(api: OperatorApi, shop: str) -> None:
    path = f"{shop}/triggers/nightly"
    await api.owner.put(path, {**NIGHTLY, "overlap": "skip"})
    assert (await api.owner.post(f"{path}/fire", _noted())).status == 201
    assert (await api.owner.post(f"{path}/fire", _noted())).code == "state_conflict"
    await api.owner.put(path, {**NIGHTLY, "overlap": "allow"})
    assert (await api.owner.post(f"{path}/fire", _noted())).status == 201


@pytest.mark.parametrize("verb", ["pause", "resume", "fire"])
async def test_a_trigger_that_is_not_there(owner: OperatorClient, shop: str, verb: str) -> None:
    assert (await owner.post(f"{shop}/triggers/none/{verb}", _noted())).code == "not_found"
    assert (await owner.post(f"{shop}/triggers/none/{verb}", {"note": "no id"})).code == "invalid_field"


def _noted(note: str = "") -> dict[str, Any]:
    return {"request_id": str(uuid4()), "note": note}
