"""Logging belongs to the whole process: a test that configures it asks for `own_logging`."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest
import structlog


@pytest.fixture
def own_logging() -> Iterator[None]:
    """The test may configure logging; afterwards it is as it was."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:], root.level = handlers, level
    structlog.reset_defaults()
