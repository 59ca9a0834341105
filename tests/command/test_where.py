"""Where the command line connects to."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tenure.exit import Stop
from tenure.where import find, format_env, parse_env
from tenure_process.exit import ExitCode

VALUES = {
    "TENURE_A": "postgresql://postgres@/tenure?host=%2Ftmp&port=5432",
    "TENURE_B": 'it\'s $HOME `x` \\ "y"',
}


def test_an_env_file_reads_as_it_was_written() -> None:
    assert parse_env(format_env(VALUES)) == VALUES


def test_a_shell_reads_the_same(tmp_path: Path) -> None:
    file = tmp_path / "env"
    file.write_text(format_env(VALUES))
    script = f". {file}; env -0 | grep -z ^TENURE_[AB]="
    shell = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=True)
    seen = dict(line.split("=", 1) for line in shell.stdout.split("\0") if line)
    assert seen == VALUES


def test_flag_wins_over_environment_and_that_over_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".tenure").mkdir()
    (tmp_path / ".tenure" / "env").write_text("export TENURE_X=file\n")
    below = tmp_path / "some" / "where"
    below.mkdir(parents=True)
    monkeypatch.chdir(below)
    monkeypatch.delenv("TENURE_X", raising=False)
    assert find("TENURE_X") == "file"
    monkeypatch.setenv("TENURE_X", "environment")
    assert find("TENURE_X") == "environment"
    assert find("TENURE_X", "flag") == "flag"


def test_what_is_nowhere_is_a_configuration_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TENURE_NOWHERE", raising=False)
    with pytest.raises(Stop, match="TENURE_NOWHERE is not set") as stop:
        find("TENURE_NOWHERE")
    assert stop.value.code == ExitCode.CONFIGURATION


def test_a_damaged_env_file_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".tenure").mkdir()
    (tmp_path / ".tenure" / "env").write_text("export 'TENURE")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(Stop, match=r"\.tenure/env cannot be used") as stop:
        find("TENURE_X")
    assert stop.value.code == ExitCode.CONFIGURATION
