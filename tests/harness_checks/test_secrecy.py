"""That a secret in a log is found: each kind, by each way, and nothing that is none."""

from __future__ import annotations

import logging
import os
import secrets
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import structlog

from tenure_contracts.identity import encode_secret, operator_token, worker_token
from tenure_process.log import configure_logging
from tests.harness.secrecy import FORMS, SECRECY, kinds
from tests.project.place import ROOT

SECRET = b"\x00\x10\x83\x10Q\x87" + bytes(range(26))

TEXTS = {
    "a worker's token": worker_token("abcdefgh", SECRET),
    "an operator's token": operator_token("abcdefgh", SECRET),
    "a lease token": encode_secret(SECRET),
    "a database password": "postgresql://tenure_ingress:a%20b@host:5432/tenure?sslmode=require",
}

HARMLESS = (
    "postgresql://tenure_ingress@host/tenure",
    "postgresql://tenure_ingress:…@host/tenure?password=…",
    "test_a_rotation_ends_the_older_token_at_once",
    "0190a3c8-5e0c-7f3a-9d51-2f6f0c3f1b77",
    "c0ffee" * 8,
)


def test_each_kind_has_a_form() -> None:
    assert set(TEXTS) == set(FORMS)
    for kind, text in TEXTS.items():
        assert kind in kinds(f"x {text!r} y")
    assert all(not kinds(text) for text in HARMLESS)
    assert all(kinds(encode_secret(secrets.token_bytes(32))) for _ in range(20))


def _log_with_arguments(secret: str) -> None:
    logging.getLogger("careless").warning("got %s", secret)


def _log_as_extra(secret: str) -> None:
    logging.getLogger("careless").warning("got it", extra={"token": secret})


def _log_an_exception(secret: str) -> None:
    try:
        int(secret)
    except ValueError:
        logging.getLogger("careless").exception("failed")


def _log_an_event(secret: str) -> None:
    structlog.get_logger("careless").info("careless", token=secret)


def _log_an_event_with_an_exception(secret: str) -> None:
    try:
        int(secret)
    except ValueError:
        structlog.get_logger("careless").exception("careless")


def _log_into_a_capture(secret: str) -> None:
    with structlog.testing.capture_logs():
        structlog.get_logger("careless").info("careless", nested={"token": [secret]})


WAYS = (
    *(_log_with_arguments, _log_as_extra, _log_an_exception),
    *(_log_an_event, _log_an_event_with_an_exception, _log_into_a_capture),
)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", TEXTS)
def test_a_secret_is_found_and_not_repeated(kind: str, way: object) -> None:
    assert callable(way)
    way(TEXTS[kind])
    found = SECRECY.take()
    assert any("careless" in sentence and kind in sentence for sentence in found), found
    assert TEXTS[kind] not in str(found)


@pytest.mark.usefixtures("own_logging")
def test_it_is_found_whatever_the_process_does_with_its_log(tmp_path: Path) -> None:
    with (tmp_path / "own.txt").open("w") as stream:
        configure_logging(stream)
        _log_an_event(TEXTS["a lease token"])
    assert SECRECY.take()


def test_what_a_process_wrote_is_read(tmp_path: Path) -> None:
    file = tmp_path / "worker.log"
    file.write_text(f"{{'token': '{TEXTS['a lease token']}'}}")
    SECRECY.read(file)
    assert SECRECY.take() == ["the process that wrote worker.log logged a lease token"]
    file.unlink()


CARELESS = """
import logging

def test_careless():
    logging.getLogger("careless").warning("got %s", {lease!r})

def test_process(tmp_path):
    (tmp_path / "ingress.log").write_text({worker!r})

def test_good(tmp_path):
    logging.getLogger("good").warning("fine")
"""


def test_the_test_that_logs_a_secret_fails(tmp_path: Path) -> None:
    fixtures = "from tests.harness.secrecy import no_secret_is_logged, no_process_logs_a_secret"
    (tmp_path / "conftest.py").write_text(fixtures)
    secret = {"lease": TEXTS["a lease token"], "worker": TEXTS["a worker's token"]}
    (tmp_path / "test_careless.py").write_text(CARELESS.format(**secret))
    command = [sys.executable, "-m", "pytest", "-q", "--show-capture=no", "-p", "no:cacheprovider"]
    command += ["-c", os.devnull, "--rootdir", str(tmp_path), "--basetemp", str(tmp_path / "base")]
    environment = os.environ | {"PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run([*command, str(tmp_path)], capture_output=True, text=True, env=environment)
    assert "3 passed, 2 errors" in done.stdout, done.stdout + done.stderr
    assert "logger careless logged a lease token" in done.stdout
    assert "the process that wrote ingress.log logged a worker's token" in done.stdout
    shutil.rmtree(tmp_path / "base")
