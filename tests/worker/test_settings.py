"""Settings and credentials: what is read, what is refused, and that nothing shows a token."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tenure_process.log import configure_logging
from tenure_worker.credential import Credential
from tenure_worker.error import ConfigurationError
from tenure_worker.machine import machine_id
from tenure_worker.settings import UsageError, read_settings
from tests.harness.fake_ingress import TOKEN, open_fake_ingress
from tests.worker.running import running_agent

GOOD = {"TENURE_WORKER_NAME": "w1", "TENURE_INGRESS_URL": "http://127.0.0.1:1/", "HOME": "/home/x"}


def test_names_of_the_environment() -> None:
    settings = read_settings(
        {
            **GOOD,
            "TENURE_WORKER_LABELS": "region=eu,os=linux",
            "TENURE_WORKER_LIMIT": "8",
            "TENURE_WORKER_DRAIN_BUDGET": "1m30s",
            "TENURE_WORKER_SESSION_LEASE": "10s",
            "TENURE_WORKER_SURVIVORS": "stop",
            "PATH": "/bin",
            "SECRET": "no",
        }
    )
    assert settings.labels == {"region": "eu", "os": "linux"}
    assert (settings.limit, settings.drain_budget_s, settings.session_lease_s) == (8, 90.0, 10.0)
    assert (settings.survivors, settings.ingress_url) == ("stop", "http://127.0.0.1:1")
    assert settings.journal == Path("/home/x/.local/state/tenure/worker/w1")
    assert settings.inherited == {"HOME": "/home/x", "PATH": "/bin"}


def test_flags_win_and_none_means_not_given() -> None:
    flags = {"name": "w2", "limit": 2, "labels": ["a=b=c"], "journal": None, "drain_budget": "5s"}
    settings = read_settings({**GOOD, "TENURE_WORKER_LIMIT": "8", "TENURE_WORKER_JOURNAL": "/j"}, flags)
    assert (settings.name, settings.limit, settings.drain_budget_s) == ("w2", 2, 5.0)
    assert settings.labels == {"a": "b=c"}
    assert settings.journal == Path("/j")


@pytest.mark.parametrize(
    "change",
    [
        {"TENURE_WORKER_NAME": ""},
        {"TENURE_WORKER_NAME": "W 1"},
        {"TENURE_INGRESS_URL": ""},
        {"TENURE_INGRESS_URL": "ftp://x"},
        {"TENURE_WORKER_LIMIT": "0"},
        {"TENURE_WORKER_LIMIT": "many"},
        {"TENURE_WORKER_LABELS": "region"},
        {"TENURE_WORKER_LABELS": "a=1,a=2"},
        {"TENURE_WORKER_DRAIN_BUDGET": "soon"},
        {"TENURE_WORKER_SESSION_LEASE": "1ms"},
        {"TENURE_WORKER_SURVIVORS": "eat"},
    ],
)
def test_what_cannot_be_meant_is_usage(change: dict[str, str]) -> None:
    with pytest.raises(UsageError) as caught:
        read_settings({**GOOD, **change})
    assert caught.value.exit_code == 64


def test_no_repr_shows_a_token(tmp_path: Path) -> None:
    settings = read_settings({**GOOD, "TENURE_WORKER_TOKEN": TOKEN})
    assert settings.token == TOKEN
    assert TOKEN not in repr(settings) + repr(Credential(token=TOKEN))


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604])
def test_a_credential_file_that_others_can_read_is_refused(mode: int, tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text(TOKEN)
    file.chmod(mode)
    with pytest.raises(ConfigurationError, match="0600"):
        Credential(file=file)


@pytest.mark.parametrize("content", ["", "tw1_x", "to1_fakeworker_" + "A" * 43, "ü"])
def test_a_file_without_a_token_is_refused_without_repeating_it(content: str, tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text(content)
    file.chmod(0o600)
    with pytest.raises(ConfigurationError) as caught:
        Credential(file=file)
    assert not content or content not in str(caught.value)


def test_a_file_that_went_bad_leaves_the_older_token_in_use(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text(TOKEN)
    file.chmod(0o600)
    credential = Credential(file=file)
    file.unlink()
    assert credential.bearer() == f"Bearer {TOKEN}"
    file.write_text("nonsense")
    file.chmod(0o600)
    assert credential.bearer() == f"Bearer {TOKEN}"


def test_the_machine_id_can_be_given() -> None:
    assert machine_id({"TENURE_MACHINE_ID": "box"}) == "box"


@pytest.mark.parametrize(
    ("environ", "code"),
    [({}, 64), ({**GOOD, "TENURE_WORKER_TOKEN": "tw1_bad"}, 78), (GOOD, 78)],
)
def test_exit_codes_before_anything_is_opened(environ: dict[str, str], code: int) -> None:
    program = "import sys; from tenure_worker.command import run_worker; sys.exit(run_worker({}))"
    ended = subprocess.run(
        [sys.executable, "-c", program], env={**environ, "PATH": os.defpath}, capture_output=True, check=False
    )
    assert ended.returncode == code
    assert b"worker_cannot_run" in ended.stderr
    assert b"Traceback" not in ended.stderr


async def test_no_token_and_no_plan_reaches_the_log(tmp_path: Path, own_logging: None) -> None:
    stream = io.StringIO()
    configure_logging(stream)
    async with open_fake_ingress() as ingress:
        attempt = ingress.give(["true"], env={"PASSWORD": "hunter2"})
        async with running_agent(ingress, tmp_path / "journal"):
            await ingress.wait_until(lambda: attempt.completion is not None)
    logged: Any = stream.getvalue()
    assert '"event": "attempt_reported"' in logged
    for secret in (TOKEN, TOKEN[-43:], attempt.token, "hunter2"):
        assert secret not in logged
