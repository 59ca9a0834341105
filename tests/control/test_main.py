"""The process as the system sees it: signals, exit codes, one JSON line per event."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from typing import Any

import trio

from tests.harness import ScratchDatabase

WAIT_S = 20.0


async def run(environment: dict[str, str], *, stop_at: str | None = None) -> tuple[int, list[Any]]:
    """Run `python -m tenure_control`; SIGTERM when a line mentions `stop_at`. Exit code and log."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("TENURE_")}
    process = await trio.lowlevel.open_process(
        [sys.executable, "-m", "tenure_control"], env=clean | environment, stderr=subprocess.PIPE
    )
    text = ""
    with trio.fail_after(WAIT_S):
        assert process.stderr is not None
        async for chunk in process.stderr:
            text += chunk.decode()
            if stop_at is not None and stop_at in text:
                process.send_signal(signal.SIGTERM)
                stop_at = None
        await process.wait()
    assert process.returncode is not None
    return process.returncode, [json.loads(line) for line in text.splitlines()]


async def test_sigterm_ends_it_with_0(database: ScratchDatabase) -> None:
    code, log = await run(
        {
            "TENURE_CONTROL_DATABASE_URL": database.dsn("tenure_control"),
            "TENURE_OPERATOR_DATABASE_URL": database.dsn("tenure_operator"),
            "TENURE_CONTROL_LISTEN": "127.0.0.1:0",
        },
        stop_at='"step": "admission"',
    )
    assert code == 0
    assert log[0]["step"] == "settings"
    assert log[-1] == log[-1] | {"event": "ended", "exit_code": 0, "level": "info"}
    steps = [entry["step"] for entry in log if entry["event"] == "stopped"]
    assert (steps[0], steps[-1]) == ("admission", "signals")
    assert database.dsn("tenure_control") not in json.dumps(log)


async def test_settings_that_cannot_be_meant_end_it_with_78() -> None:
    code, log = await run({"TENURE_CONTROL_LISTEN": "here"})
    assert code == 78
    assert "TENURE_CONTROL_LISTEN" in log[0]["reason"]
