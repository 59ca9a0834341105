"""The process as a whole: order of start and stop, exit codes, a lost database, signals."""

from __future__ import annotations

import signal
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
import structlog
import trio

from tenure_control import app, life
from tenure_control.app import serve
from tenure_control.migration import load_migrations
from tenure_control.process import Process
from tenure_control.stage import startup
from tenure_control.stage.outcome import StageError
from tenure_postgres.listen import listen
from tenure_process.exit import ExitCode
from tests.harness import ScratchDatabase, open_proxy
from tests.harness.control import control_settings, exit_of, open_control
from tests.harness.fixture import MakeDatabase
from tests.harness.seed import Seed
from tests.harness.template import bare, with_roles

STARTED = [
    "settings",
    "signals",
    "listener",
    "pools",
    "readiness",
    "startup_recovery",
    "lifecycles",
    "scheduler_cadence",
    "cancellation_cadence",
    "admission",
]
STOPPED = [
    "admission",
    "requests",
    "cancellation_cadence",
    "scheduler_cadence",
    "lifecycles",
    "pools",
    "listener",
    "signals",
]


async def test_it_starts_and_stops_in_order(database: ScratchDatabase) -> None:
    async with open_control(database) as control:
        assert control.steps("started") == STARTED
        assert (await control.get("/readyz")).json() == {"status": "ready", "reasons": []}
        assert (await control.get("/livez")).status_code == 200
        assert b"tenure_control_cycles_total" in (await control.get("/metrics")).content
        assert (await control.get("/v1/projects")).status_code == 401
    assert control.steps("stopped") == STOPPED
    assert control.exit_code == ExitCode.DONE


async def test_it_is_alive_and_not_ready_from_the_beginning(database: ScratchDatabase) -> None:
    async with open_proxy(database.server.socket_path) as proxy:
        proxy.refuse()
        dsn = proxy.dsn(database.dsn("tenure_control"))
        async with open_control(database, ready=False, database_url=dsn) as control:
            assert (await control.get("/livez")).status_code == 200
            answer = await control.get("/readyz")
            assert (answer.status_code, answer.json()["status"]) == (503, "starting")
            refused = await control.get("/v1/projects")
            assert (refused.status_code, refused.json()["code"]) == (503, "starting")
            proxy.forward()
            await control.wait_status("ready")
    assert control.exit_code == ExitCode.DONE


class InjectedError(Exception):
    """What a step raises that fails."""


def fail(*_: Any, **__: Any) -> Any:
    """Stands in for a step."""
    raise InjectedError


async def fail_later(*_: Any, **__: Any) -> Any:
    """Stands in for a step that is awaited."""
    await trio.lowlevel.checkpoint()
    raise InjectedError


FAILURES = [
    (app, "serve_http", fail_later, "listener"),
    (life, "open_database", fail, "pools"),
    (life, "wait_usable", fail_later, "readiness"),
    (startup, "recover", fail_later, "startup_recovery"),
    (life, "wire", fail, "lifecycles"),
    (life, "listen", fail_later, "scheduler_cadence"),
    (life, "operator_routes", fail, "admission"),
]


@pytest.mark.parametrize(("module", "name", "stand_in", "step"), FAILURES, ids=[f[3] for f in FAILURES])
async def test_a_step_that_fails_unwinds_what_started_and_is_what_is_reported(
    database: ScratchDatabase,
    monkeypatch: pytest.MonkeyPatch,
    module: Any,
    name: str,
    stand_in: Any,
    step: str,
) -> None:
    monkeypatch.setattr(module, name, stand_in)
    _, receive = trio.open_memory_channel[int](1)
    with structlog.testing.capture_logs() as log, pytest.raises(InjectedError), trio.fail_after(10):
        await serve(control_settings(database), signals=receive)
    started = [entry["step"] for entry in log if entry["event"] == "started"]
    stopped = [entry["step"] for entry in log if entry["event"] == "stopped"]
    assert started == STARTED[: len(started)]
    assert step not in stopped or step in started
    lasting = [each for each in started if each not in ("settings", "readiness", "startup_recovery")]
    assert stopped == lasting[::-1]
    await database.wait_until(
        "count(*) = 0 FROM pg_stat_activity WHERE datname = current_database()"
        " AND application_name LIKE 'tenure control%'"
    )


WRONG = [
    ("DROP SCHEMA tenure CASCADE; CREATE SCHEMA tenure", "run `tenure control migrate`"),
    ("DELETE FROM tenure.schema_migrations WHERE id > 16", "the schema is older than this code"),
    (
        "INSERT INTO tenure.schema_migrations VALUES (9999, '9999_later', sha256('x'))",
        "missing from the history",
    ),
    (
        f"INSERT INTO tenure.schema_migrations VALUES ({len(load_migrations()) + 1}, 'later', sha256('x'))",
        "the database is ahead of this code",
    ),
    ("GRANT DELETE ON tenure.runs TO tenure_control", "tenure_control has DELETE on table tenure.runs"),
    ("REVOKE SELECT ON tenure.projects FROM tenure_operator", "tenure_operator lacks SELECT"),
]


@pytest.mark.parametrize(("change", "sentence"), WRONG)
async def test_a_database_that_is_wrong_ends_it_with_78_and_what_to_do(
    database: ScratchDatabase, change: str, sentence: str
) -> None:
    database.execute(change)
    code, log = await exit_of(control_settings(database))
    assert code == ExitCode.CONFIGURATION
    (reason,) = [entry["reason"] for entry in log if entry["event"] == "database_unusable"]
    assert sentence in reason


async def test_a_read_only_server_ends_it_with_78(database: ScratchDatabase) -> None:
    for role in ("tenure_control", "tenure_operator"):
        database.execute(
            f"ALTER ROLE {role} IN DATABASE {database.name} SET default_transaction_read_only = on"
        )
    code, log = await exit_of(control_settings(database))
    assert code == ExitCode.CONFIGURATION
    assert any("read-only" in entry.get("reason", "") for entry in log)


async def test_a_database_without_schema_or_role_ends_it_with_78(make_database: MakeDatabase) -> None:
    unmigrated = make_database(with_roles)
    code, log = await exit_of(control_settings(unmigrated))
    assert code == ExitCode.CONFIGURATION
    assert any("tenure control migrate" in entry.get("reason", "") for entry in log)
    nobody = unmigrated.dsn("tenure_nobody")
    code, log = await exit_of(control_settings(unmigrated, database_url=nobody))
    assert code == ExitCode.CONFIGURATION
    assert any("tenure control roles" in entry.get("reason", "") for entry in log)
    missing = make_database(bare).dsn("tenure_control").replace("test_", "no_such_database_")
    code, log = await exit_of(control_settings(unmigrated, database_url=missing))
    assert code == ExitCode.CONFIGURATION
    assert any("create the database" in entry.get("reason", "") for entry in log)


async def test_an_unreachable_database_is_tried_and_ends_it_with_75(database: ScratchDatabase) -> None:
    nowhere = "postgresql://tenure_control@127.0.0.1:1/tenure"
    settings = control_settings(database, database_url=nowhere, start_budget_s=1.5)
    began = trio.current_time()
    code, log = await exit_of(settings)
    assert code == ExitCode.TEMPORARY
    assert trio.current_time() - began < 5
    assert [entry["event"] for entry in log].count("database_not_usable") >= 2


async def test_a_port_that_is_taken_ends_it_with_78(database: ScratchDatabase) -> None:
    async with open_control(database) as control:
        assert control.process.address is not None
        code, log = await exit_of(control_settings(database, listen=control.process.address))
    assert code == ExitCode.CONFIGURATION
    assert any(entry["event"] == "cannot_listen" for entry in log)


async def test_a_stop_before_it_is_ready_ends_it_with_0(database: ScratchDatabase) -> None:
    nowhere = "postgresql://tenure_control@127.0.0.1:1/tenure"
    async with open_control(database, ready=False, database_url=nowhere) as control:
        await trio.lowlevel.checkpoint()
        control.signal()
        with trio.fail_after(5):
            assert await control.process.wait_ended() == ExitCode.DONE
    assert control.steps("stopped") == ["pools", "listener", "signals"]


async def test_concurrent_stops_share_one_result(database: ScratchDatabase) -> None:
    codes = []
    async with open_control(database) as control:

        async def stop() -> None:
            codes.append(await control.stop())

        async with trio.open_nursery() as nursery:
            control.signal()
            for _ in range(5):
                nursery.start_soon(stop)
    assert codes == [ExitCode.DONE] * 5
    assert control.steps("stopped") == STOPPED


async def test_sigterm_in_the_middle_of_a_cycle_drains_it(database: ScratchDatabase) -> None:
    seed = Seed(database)
    seed.task("report")
    async with open_control(database) as control:
        await control.cycle()
        for number in range(8):
            seed.trigger(f"t{number}", "report", cron="* * * * *")
        await control.cycle()
        database.shift(timedelta(minutes=1))
        async with database.session() as gate:
            await gate.execute("BEGIN; LOCK TABLE tenure.trigger_events IN EXCLUSIVE MODE")
            assert control.process.scheduler is not None
            control.process.scheduler.wake()
            await database.wait_until_blocked()
            control.signal()
            await control.wait_status("draining")
            assert (await control.get("/readyz")).status_code == 503
            await gate.execute("COMMIT")
        assert await control.process.wait_ended() == ExitCode.DONE
    assert control.steps("stopped") == STOPPED
    last = [entry for entry in control.log if entry["event"] == "cycle" and entry["cadence"] == "scheduler"][
        -1
    ]
    assert (last["failed_stage"], len(last["stages"])) == (None, 5)
    assert database.value("SELECT count(*) FROM tenure.runs") == 8
    assert database.value("SELECT count(*) FROM tenure.trigger_cursors WHERE state = 'claimed'") == 0


async def test_a_cycle_that_does_not_end_is_cut_and_the_exit_code_says_so(
    database: ScratchDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_control(database, drain_budget_s=0.1) as control:
        await control.cycle()
        begun = trio.Event()

        async def hang(_: Any) -> Any:
            begun.set()
            await trio.sleep_forever()

        work = control.process.scheduler
        assert work is not None
        monkeypatch.setattr(work, "_cycle", partial(hang, None))
        work.wake()
        await begun.wait()
    assert control.exit_code == ExitCode.FAILED
    assert control.steps("stopped") == STOPPED


async def test_a_second_signal_cuts(database: ScratchDatabase, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_control(database, drain_budget_s=60) as control:
        await control.cycle()
        begun = trio.Event()

        async def hang() -> Any:
            begun.set()
            await trio.sleep_forever()

        work = control.process.scheduler
        assert work is not None
        monkeypatch.setattr(work, "_cycle", hang)
        work.wake()
        await begun.wait()
        control.signal()
        await control.wait_status("draining")
        control.signal()
        with trio.fail_after(5):
            assert await control.process.wait_ended() == ExitCode.FAILED


async def test_a_lost_database_begins_a_new_incarnation(database: ScratchDatabase) -> None:
    seed = Seed(database)
    seed.task("report")
    async with open_proxy(database.server.socket_path) as proxy:
        dsn = proxy.dsn(database.dsn("tenure_control"))
        async with open_control(database, interval_s=0.05, database_url=dsn) as control:
            await control.cycle()
            for _ in range(3):
                proxy.refuse()
                proxy.cut()
                await control.wait_status("unavailable")
                assert (await control.get("/livez")).status_code == 200
                refused = await control.get("/v1/projects")
                assert (refused.status_code, refused.json()["code"]) == (503, "database_unavailable")
                proxy.forward()
                await control.wait_status("ready")
            seed.trigger("often", "report", cron="* * * * *")
            await control.cycle()
            database.shift(timedelta(minutes=1))
            await control.cycle()
    assert control.exit_code == ExitCode.DONE
    begun = [entry["incarnation"] for entry in control.log if entry["event"] == "incarnation"]
    assert len(begun) == len(set(begun)) >= 4
    assert database.value("SELECT count(*) FROM tenure.runs") == 1
    unwound = control.steps("stopped")
    assert unwound[:5] == ["admission", "cancellation_cadence", "scheduler_cadence", "lifecycles", "pools"]
    assert "listener" not in unwound[: -len(STOPPED)]


async def test_an_occurrence_whose_commit_was_not_answered_fires_once(database: ScratchDatabase) -> None:
    seed = Seed(database)
    seed.task("report")
    async with open_proxy(database.server.socket_path) as proxy:
        dsn = proxy.dsn(database.dsn("tenure_control"))
        async with open_control(database, database_url=dsn) as control:
            await control.cycle()
            seed.trigger("often", "report", cron="* * * * *")
            await control.cycle()
            database.shift(timedelta(minutes=1))
            lost = proxy.lose_reply("COMMIT")
            with pytest.raises(StageError):
                await control.cycle()
            assert lost.is_set()
            await control.wait_status("ready")
            database.shift(timedelta(seconds=31))
            await control.cycle()
    assert control.exit_code == ExitCode.DONE
    assert database.value("SELECT count(*) FROM tenure.runs") == 1
    assert database.value("SELECT state FROM tenure.trigger_cursors") == "idle"


async def test_a_lost_database_ends_the_process_when_asked_for(database: ScratchDatabase) -> None:
    async with open_proxy(database.server.socket_path) as proxy:
        dsn = proxy.dsn(database.dsn("tenure_control"))
        settings: dict[str, Any] = {"database_url": dsn, "exit_on_database_loss": True}
        async with open_control(database, interval_s=0.05, **settings) as control:
            await control.cycle()
            proxy.refuse()
            proxy.cut()
            with trio.fail_after(10):
                assert await control.process.wait_ended() == ExitCode.TEMPORARY
    assert control.steps("stopped")[-3:] == ["pools", "listener", "signals"]


async def test_a_database_that_went_wrong_after_ready_ends_nothing(database: ScratchDatabase) -> None:
    async with open_proxy(database.server.socket_path) as proxy:
        dsn = proxy.dsn(database.dsn("tenure_control"))
        async with open_control(database, interval_s=0.05, database_url=dsn) as control:
            await control.cycle()
            database.execute("GRANT DELETE ON tenure.runs TO tenure_control")
            proxy.refuse()
            proxy.cut()
            await control.wait_status("unavailable")
            proxy.forward()
            with trio.fail_after(5):
                while "DELETE" not in control.process.readiness.reasons[0]:  # noqa: ASYNC110 - no event for it
                    await trio.sleep(0.01)
            assert (await control.get("/readyz")).json()["status"] == "unavailable"
            database.execute("REVOKE DELETE ON tenure.runs FROM tenure_control")
            await control.wait_status("ready")


async def test_notifications_wake_the_cadence_and_tell_of_work(database: ScratchDatabase) -> None:
    seed = Seed(database)
    seed.task("report")
    heard: list[str] = []
    async with trio.open_nursery() as nursery, open_control(database) as control:
        await control.cycle()
        await nursery.start(
            partial(
                listen,
                database.dsn("tenure_ingress"),
                ["tenure_dispatch"],
                lambda channel, _: heard.append(channel),
                name="test",
            )
        )
        seed.trigger("often", "report", cron="* * * * *")
        database.execute("NOTIFY tenure_control")
        await database.wait_until("last_decision = 'initialize' FROM tenure.trigger_cursors")
        await database.wait_until("count(*) = 1 FROM pg_stat_activity WHERE application_name = 'test'")
        database.shift(timedelta(minutes=1))
        await control.cycle()
        assert database.value("SELECT count(*) FROM tenure.runs") == 1
        with trio.fail_after(5):
            while len(heard) < 2:  # noqa: ASYNC110 - the first one is the connection's
                await trio.sleep(0.005)
        nursery.cancel_scope.cancel()


async def test_the_clock_that_went_back_skips_admission_in_that_cycle(database: ScratchDatabase) -> None:
    seed = Seed(database)
    seed.task("report")
    seed.trigger("yearly", "report", cron="@yearly")
    async with open_control(database) as control:
        await control.cycle()
        database.execute(
            "UPDATE tenure.trigger_cursors SET last_observed_at = last_observed_at + interval '1 day'"
        )
        with pytest.raises(StageError):
            await control.cycle()
        await control.cycle()
    (failed,) = [entry for entry in control.log if entry["event"] == "cycle_failed"]
    assert (failed["failed_stage"], failed["skipped"]) == ("schedule", ["frontier", "admission"])
    assert control.exit_code == ExitCode.DONE


async def test_signals_come_from_any_iterator(database: ScratchDatabase) -> None:
    send, receive = trio.open_memory_channel[int](1)
    async with trio.open_nursery() as nursery:
        process: Process = await nursery.start(partial(serve, control_settings(database), signals=receive))
        send.send_nowait(signal.SIGINT)
        with trio.fail_after(10):
            assert await process.wait_ended() == ExitCode.DONE


def test_the_pools_are_as_small_as_the_design_says() -> None:
    assert life.RUNTIME_CONNECTIONS + life.RECOVERY_CONNECTIONS == 4
    assert life.OPERATOR_CONNECTIONS == 2
