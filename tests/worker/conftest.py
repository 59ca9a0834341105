"""Fixtures of the worker's tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from tenure_worker import client


@pytest.fixture(autouse=True)
def quick_backoff(monkeypatch: pytest.MonkeyPatch) -> None:
    """Repeat soon: how long the pauses are is tested on its own."""
    monkeypatch.setattr(client, "BACKOFF_BASE_S", 0.02)
    monkeypatch.setattr(client, "BACKOFF_CAP_S", 0.2)


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    """The folder of a journal that does not exist yet."""
    return tmp_path / "journal"
