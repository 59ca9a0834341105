"""The requirement files: pinned and hashed, agreeing with each other, and free of one machine's addresses."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.project.place import ROOT

DEVELOPMENT = ROOT / "requirements-dev.txt"
SUBSETS = [ROOT / "requirements.txt", *sorted((ROOT / "deploy" / "requirements").glob("*.txt"))]
FILES = [DEVELOPMENT, *SUBSETS]
PIN = re.compile(r"^(?P<name>[a-z0-9][a-z0-9-]*)==(?P<version>[^ ;]+)")

parametrize_files = pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(ROOT)))


def _pins(file: Path) -> dict[str, str]:
    found = map(PIN.match, file.read_text().splitlines())
    return {pin["name"]: pin["version"] for pin in found if pin}


def _entries(file: Path) -> list[str]:
    """The file's requirements, each with its continuation lines, without comments."""
    lines = [line for line in file.read_text().splitlines() if not line.lstrip().startswith("#")]
    return "\n".join(lines).replace("\\\n", " ").splitlines()


@parametrize_files
def test_every_requirement_is_pinned_and_hashed(file: Path) -> None:
    entries = _entries(file)

    assert entries
    assert [entry for entry in entries if not PIN.match(entry) or "--hash=sha256:" not in entry] == []


@parametrize_files
def test_no_address_is_recorded(file: Path) -> None:
    """An index address is that of the machine which wrote the file, and may carry its password."""
    address = re.compile(r"://|--(extra-)?index|--find-links|--trusted-host|(?<![\w.-])/\w+/", re.IGNORECASE)

    assert [line for line in file.read_text().splitlines() if address.search(line)] == []


@pytest.mark.parametrize("file", SUBSETS, ids=lambda file: str(file.relative_to(ROOT)))
def test_what_runs_is_what_was_tested(file: Path) -> None:
    """Every version that is installed somewhere is the one the test suite ran with."""
    assert _pins(file).items() <= _pins(DEVELOPMENT).items()


def test_lock_files_that_record_addresses_stay_out() -> None:
    assert [
        name for name in ("uv.lock", "pylock.toml", "poetry.lock", "Pipfile.lock") if (ROOT / name).exists()
    ] == []


def test_the_ingress_image_installs_nothing_of_control() -> None:
    assert _pins(ROOT / "deploy" / "requirements" / "ingress.txt").keys().isdisjoint({"cronsim", "tzdata"})
