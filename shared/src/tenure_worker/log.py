"""One JSON line per event, on standard error. Nothing that is logged ever contains a token or a plan."""

from __future__ import annotations

import sys
from typing import TextIO

import structlog


def configure_logging(stream: TextIO | None = None) -> None:
    """Make the process log JSON lines to a stream, standard error by default."""
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(sort_keys=True),
        ],
        logger_factory=structlog.PrintLoggerFactory(stream or sys.stderr),
        cache_logger_on_first_use=False,
    )
