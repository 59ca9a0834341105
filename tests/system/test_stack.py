"""`tenure dev` and the command line, end to end, as separate processes."""

from __future__ import annotations

import json
import os
import signal
import stat
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.system.stack import Stack, running_stack, wait_until

DEFINITIONS = """\
project: shop
tasks:
  greet:
    command: ["sh", "-c", "echo hello $0", "{{ input.name }}"]
  fail:
    command: ["sh", "-c", "echo broken >&2; exit 7"]
triggers:
  often: {task: greet, cron: "* * * * * *", timezone: UTC, overlap: skip, input: {name: clock}}
"""


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """One stack for the tests of this module."""
    folder = tmp_path_factory.mktemp("stack")
    with running_stack(folder) as running:
        (folder / "definitions").mkdir()
        (folder / "definitions" / "shop.yaml").write_text(DEFINITIONS)
        yield running


@pytest.fixture(scope="module")
def shop(stack: Stack) -> str:
    """A project with definitions; its name."""
    stack.say("apply", "-f", "definitions")
    return "shop"


def _run(stack: Stack, task: str, **input_: str) -> str:
    return stack.say("run", "start", "--project", "shop", "--task", task, "--input", json.dumps(input_))


def _view(stack: Stack, run: str) -> dict[str, object]:
    view: dict[str, object] = json.loads(stack.say("run", "show", "--project", "shop", run, "--json"))
    return view


def test_the_env_file_is_private_and_complete(stack: Stack) -> None:
    file = stack.folder / ".tenure" / "env"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert set(stack.env) >= {
        "TENURE_CONTROL_URL",
        "TENURE_INGRESS_URL",
        "TENURE_OPERATOR_TOKEN",
        "TENURE_DATABASE_URL",
        "TENURE_INGRESS_DATABASE_URL",
        "TENURE_CONTROL_DATABASE_URL",
        "TENURE_OPERATOR_DATABASE_URL",
    }


def test_a_second_stack_in_the_same_folder_is_refused(stack: Stack) -> None:
    second = stack.tenure("dev")
    assert second.returncode == 1
    assert "a stack runs in" in second.stderr


def test_applying_again_changes_nothing(stack: Stack, shop: str) -> None:
    answer = json.loads(stack.say("apply", "-f", "definitions", "--json"))
    assert {change["change"] for change in answer["changes"]} == {"none"}


def test_bad_definitions_are_refused_with_file_and_path(stack: Stack, shop: str, tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text(
        "project: shop\ntasks:\n  new: {command: [ls]}\n  bad: {command: [ls], timeout: 90}\n"
        "triggers: {t: {task: new, cron: '0 0 30 2 *', timezone: UTC}}\n"
    )
    refused = stack.tenure("apply", "-f", str(tmp_path))
    assert refused.returncode == 1
    assert f"{tmp_path}/bad.yaml: " in refused.stderr
    assert ".tasks.bad.timeout" in refused.stderr
    missing = stack.tenure("run", "start", "--project", "shop", "--task", "new")
    assert missing.returncode == 1, "nothing of a refused file is applied"
    assert "not_found" in missing.stderr


def test_a_worker_executes_what_is_started_and_what_is_due(stack: Stack, shop: str) -> None:
    with stack.worker("w1"):
        greeted, failed = _run(stack, "greet", name="ann"), _run(stack, "fail")
        stack.say("run", "wait", "--project", "shop", greeted, "--timeout", "30")
        assert stack.tenure("run", "wait", "--project", "shop", failed, "--timeout", "30").returncode == 1
        wait_until(
            lambda: (
                "succeeded" in stack.say("run", "list", "--project", "shop", "--trigger", "often", "--json")
            ),
            "the trigger's run succeeds",
        )
    assert _view(stack, greeted)["status"] == "succeeded"
    view = _view(stack, failed)
    assert (view["status"], view["attempts"]) == ("failed", 1)
    events = json.loads(stack.say("run", "events", "--project", "shop", greeted, "--json"))["items"]
    assert [event["sequence"] for event in events] == list(range(1, len(events) + 1))
    # A command that ends at once may be completed before it was ever reported as running.
    types = [event["type"] for event in events if not event["type"].endswith(".running")]
    assert types == [
        "run.queued",
        "attempt.claimed",
        "run.dispatching",
        "attempt.starting",
        "attempt.succeeded",
        "run.succeeded",
    ]


@pytest.mark.parametrize("process", ["control", "ingress"])
def test_a_killed_process_is_started_again(stack: Stack, shop: str, process: str) -> None:
    killed = stack.pid(process)
    os.kill(killed, signal.SIGKILL)

    def is_back() -> bool:
        try:
            return stack.pid(process) != killed and httpx.get(
                f"{stack.env[f'TENURE_{process.upper()}_URL']}/v1/nowhere", trust_env=False
            ).status_code in (401, 404)
        except (OSError, ValueError, httpx.HTTPError):
            return False

    wait_until(is_back, f"{process} is back")


def _answers(stack: Stack) -> bool:
    return stack.tenure("run", "list", "--project", "shop").returncode == 0


def test_a_killed_database_is_started_again(stack: Stack, shop: str) -> None:
    pid_file = stack.folder / ".tenure" / "pg" / "data" / "postmaster.pid"
    killed = pid_file.read_text().split()[0]
    os.kill(int(killed), signal.SIGKILL)
    wait_until(lambda: pid_file.exists() and pid_file.read_text().split()[0] != killed, "it is back")
    wait_until(lambda: _answers(stack), "control has found it")


def test_after_a_killed_stack_a_shell_that_sourced_the_env_file_starts_the_next(
    stack: Stack, shop: str
) -> None:
    sourced, orphan = stack.env, stack.pid("control")
    os.kill(stack.pid("dev"), signal.SIGKILL)
    stack.say("dev", "--background", environment=sourced)
    assert stack.pid("control") != orphan
    assert stack.env == sourced, "what a shell or a worker was told stays true"
    assert _answers(stack), "it is ready when the command returns"


def test_a_wished_server_that_is_not_there_is_told_in_one_sentence(tmp_path: Path) -> None:
    wish = {"TENURE_DATABASE_URL": f"postgresql://postgres@/tenure?host={tmp_path}&port=5432"}
    for mode in ((), ("--background",)):
        refused = Stack(tmp_path).tenure("dev", *mode, environment=wish)
        assert refused.returncode == 75, refused.stderr
        assert refused.stderr.startswith(
            "tenure: the server of TENURE_DATABASE_URL (unset it for an embedded one)"
        )
        assert len(refused.stderr.splitlines()) == 1


def test_no_command_prints_a_secret(stack: Stack, shop: str) -> None:
    token = stack.say("worker", "enroll", "quiet")
    assert token.startswith("tw1_")
    secrets = (token.rpartition("_")[2], stack.env["TENURE_OPERATOR_TOKEN"].split("_", 2)[2])
    for log in (stack.folder / ".tenure" / "log").iterdir():
        assert not any(secret in log.read_text() for secret in secrets), log


def test_down_keeps_the_data_and_no_restart_leaves_a_process_down(tmp_path: Path) -> None:
    with running_stack(tmp_path, "--no-restart") as first:
        token = first.env["TENURE_OPERATOR_TOKEN"]
        (tmp_path / "shop.yaml").write_text(DEFINITIONS)
        first.say("apply", "-f", "shop.yaml")
        ingress = first.pid("ingress")
        os.kill(ingress, signal.SIGKILL)
        wait_until(lambda: "ingress ended with -9" in first.log("dev"), "the stack notices")
        assert not (tmp_path / ".tenure" / "ingress.pid").exists()
    assert not (tmp_path / ".tenure" / "env").exists()
    with running_stack(tmp_path) as second:
        assert second.env["TENURE_OPERATOR_TOKEN"] == token
        assert json.loads(second.say("apply", "-f", "shop.yaml", "--json"))["changes"][0]["change"] == "none"
        said = [line.split()[0] for line in second.log("dev").splitlines()]
        assert said == ["control", "ingress", "ready:", "ingress", "control", "ingress", "ready:"]
    assert second.say("dev", "--stop") == "no stack is up here"
