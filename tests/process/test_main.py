"""The process around a service, each in one of its own: signals and logging belong to the whole."""

from __future__ import annotations

import json
import resource
import signal
import subprocess
import sys
import textwrap
from typing import Any

import pytest

PROGRAM = """
import logging, os, signal, sys
from dataclasses import dataclass
from tenure_process.main import run
from tenure_process.settings import SettingsError

@dataclass
class Settings:
    debug: bool = False

def read():
    {read}

async def serve(settings, *, signals):
    {serve}

sys.exit(run("tenure.x", read, serve))
"""


def ends(*, serve: str, read: str = "return Settings()", before: str = "") -> tuple[int, list[Any]]:
    """The exit code and the log of a process."""
    program = f"{before}\n" + PROGRAM.format(
        read=read, serve=textwrap.indent(textwrap.dedent(serve), "    ").strip()
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=30, check=False
    )
    return done.returncode, [json.loads(line) for line in done.stderr.splitlines()]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_signals_reach_the_service_and_it_says_how_the_process_ends(number: signal.Signals) -> None:
    serve = f"""
        os.kill(os.getpid(), {number.value})
        async for received in signals:
            return received + 50
    """
    assert ends(serve=serve) == (number + 50, [])


def test_it_has_as_many_descriptors_as_it_may_have() -> None:
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    few = f"import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (256, {most}))"
    serve = f"""
        import resource
        return 0 if resource.getrlimit(resource.RLIMIT_NOFILE) == ({most}, {most}) else 1
    """
    assert ends(serve=serve, before=few) == (0, [])


def test_settings_that_cannot_be_meant_are_one_line_and_78() -> None:
    code, (line,) = ends(serve="return 0", read='raise SettingsError("P_X must be yes or no")')
    assert code == 78
    assert (line["event"], line["level"]) == ("settings_refused", "critical")
    assert line["reason"] == "P_X must be yes or no"


def test_an_unexpected_error_is_one_line_with_its_traceback_and_1() -> None:
    code, (line,) = ends(serve='raise ValueError("odd")')
    assert code == 1
    assert line["event"] == "failed"
    assert "ValueError: odd" in line["exception"]


@pytest.mark.parametrize(("debug", "events"), [(False, []), (True, ["seen"])])
def test_debug_is_a_setting(debug: bool, events: list[str]) -> None:
    serve = """
        logging.getLogger("tenure.x").debug("seen")
        return 0
    """
    code, log = ends(serve=serve, read=f"return Settings(debug={debug})")
    assert code == 0
    assert [line["event"] for line in log if line["event"] == "seen"] == events
