"""The launcher: blocked until told, exact in what it starts, the last to go."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest

from tenure_worker.launcher import Command, Launcher, prepare, receipt
from tenure_worker.machine import parse_stat, read_stat, session_members
from tenure_worker.stop import stop_session, wait_empty
from tests.worker.running import wait_for

ENVIRONMENT = {"PATH": "/usr/local/bin:/usr/bin:/bin"}


def _prepare(folder: Path, *argv: str, **facts: object) -> Launcher:
    values = {"argv": argv, "env": ENVIRONMENT, "cwd": "/", **facts}
    return prepare(folder / "attempt", Command(**values))  # type: ignore[arg-type]


async def test_without_go_nothing_is_started(tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    launcher = _prepare(tmp_path, "touch", str(ran))
    assert receipt.is_held(tmp_path / "attempt" / "receipt")
    launcher.abandon()
    seen = await launcher.wait_ended()
    launcher.close()
    assert (seen.started, seen.failure, seen.exit_code) == (None, None, None)
    assert not ran.exists()
    assert not receipt.is_held(tmp_path / "attempt" / "receipt")


async def test_a_launcher_is_created_once(tmp_path: Path) -> None:
    launcher = _prepare(tmp_path, "true")
    with pytest.raises(FileExistsError):
        _prepare(tmp_path, "true")
    launcher.close()


@pytest.mark.parametrize(
    ("script", "code"), [("exit 0", 0), ("exit 42", 42), ("kill -KILL $$", 137), ("kill -TERM $$", 143)]
)
async def test_the_exit_code_and_the_times_are_on_the_receipt(script: str, code: int, tmp_path: Path) -> None:
    launcher = _prepare(tmp_path, "sh", "-c", script)
    launcher.go()
    seen = await launcher.wait_ended()
    launcher.close()
    assert seen.exit_code == code
    assert seen.started is not None
    assert seen.ended_at is not None
    assert seen.ended_at >= seen.started.at


async def test_environment_arguments_and_descriptors_are_exact(tmp_path: Path) -> None:
    program = (
        "import os, sys; sys.stdout.write(repr((sys.argv[1:], dict(os.environ), sys.stdin.read(), "
        "os.getcwd(), sorted(os.listdir('/proc/self/fd')))))"
    )
    environment = {"LC_ALL": "C.UTF-8", "A.B": "x=y", "EMPTY": "", "ÜBER": "日本"}
    arguments = ("", " two words ", "$HOME", "-n", "\n", "'")
    launcher = _prepare(
        tmp_path,
        sys.executable,
        "-IS",
        "-c",
        program,
        *arguments,
        env=environment,
        stdin="in\n",
        cwd=str(tmp_path),
    )
    launcher.go()
    await launcher.wait_ended()
    launcher.close()
    expected = (
        list(arguments),
        environment,
        "in\n",
        str(tmp_path),
        ["0", "1", "2", "3"],
    )  # 3: the folder being listed
    assert (tmp_path / "attempt" / "stdout").read_text() == repr(expected)


async def test_signals_are_reset_and_the_launcher_survives_its_command(tmp_path: Path) -> None:
    launcher = _prepare(tmp_path, "sh", "-c", "sleep 0.1; kill -PIPE $$")
    launcher.go()
    started = await launcher.wait_started()
    assert started.started is not None
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        os.kill(launcher.pid, number)
    seen = await launcher.wait_ended()
    launcher.close()
    assert seen.exit_code == 128 + signal.SIGPIPE


async def test_the_launcher_is_small(tmp_path: Path) -> None:
    launcher = _prepare(tmp_path, "sleep", "60")
    launcher.go()
    seen = await launcher.wait_started()
    assert seen.started is not None
    size_kib = _resident_kib(launcher.pid)
    await stop_session(seen.started.session, 5.0)
    await launcher.wait_ended()
    launcher.close()
    assert size_kib <= 3 * 1024


async def test_stop_ends_the_whole_session_and_spares_the_launcher(tmp_path: Path) -> None:
    ready = tmp_path / "ready"
    script = f"trap '' TERM; sleep 60 & (sleep 61) & touch {ready}; sleep 62"
    launcher = _prepare(tmp_path, "sh", "-c", script)
    launcher.go()
    seen = await launcher.wait_started()
    assert seen.started is not None
    await wait_for(ready.exists)
    await stop_session(seen.started.session, 0.1)
    ended = await launcher.wait_ended()
    launcher.close()
    assert session_members(seen.started.session) == []
    assert ended.exit_code == 137


async def test_a_stopped_process_still_hears_term(tmp_path: Path) -> None:
    launcher = _prepare(tmp_path, "sleep", "60")
    launcher.go()
    seen = await launcher.wait_started()
    assert seen.started is not None
    os.kill(seen.started.session, signal.SIGSTOP)
    await stop_session(seen.started.session, 30.0)
    ended = await launcher.wait_ended()
    launcher.close()
    assert ended.exit_code == 143


async def test_the_command_outlives_its_killed_launcher(tmp_path: Path) -> None:
    launcher = _prepare(tmp_path, "sleep", "0.3")
    launcher.go()
    seen = await launcher.wait_started()
    assert seen.started is not None
    os.kill(launcher.pid, signal.SIGKILL)
    ended = await launcher.wait_ended()
    assert ended.exit_code is None
    assert session_members(seen.started.session)
    await wait_empty(seen.started.session)
    launcher.close()


async def test_the_plan_does_not_stay_in_memory(tmp_path: Path) -> None:
    launcher = _prepare(tmp_path, "sleep", "60", env={**ENVIRONMENT, "SECRET": "s3cret"})
    launcher.go()
    seen = await launcher.wait_started()
    assert seen.started is not None
    kept = _open_files(launcher.pid)
    await stop_session(seen.started.session, 5.0)
    await launcher.wait_ended()
    launcher.close()
    assert not [name for name in kept if "memfd" in name]


def _resident_kib(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0])


def _open_files(pid: int) -> list[str]:
    return [str(path.readlink()) for path in Path(f"/proc/{pid}/fd").iterdir()]


def test_stat_lines_with_strange_names() -> None:
    line = b"7 (a) b (c) R 1 8 9 " + b" ".join(str(n).encode() for n in range(16, 60))
    stat = parse_stat(line)
    assert (stat.pid, stat.state, stat.group, stat.session) == (7, "R", 8, 9)
    assert read_stat(2**22 + 1) is None


@pytest.mark.parametrize(
    ("content", "started", "failure", "exit_code"),
    [
        (b" " * 256, False, None, None),
        (b"", False, None, None),
        (b"started 7 99 1700000000000000000\n   ", True, None, None),
        (b"started 7 99 1700000000000000000\nfailed exec 2\n", True, ("exec", 2), None),
        (b"started 7 99 1700000000000000000\nexit 3\n  ", True, None, 3),
        (b"exit 127\n", False, None, 127),
    ],
)
def test_receipts(
    content: bytes, started: bool, failure: tuple[str, int] | None, exit_code: int | None
) -> None:
    seen = receipt.parse(content, 0)
    assert (seen.started is not None, seen.failure, seen.exit_code) == (started, failure, exit_code)
