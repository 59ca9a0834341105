"""One event per line: JSON, or readable on a terminal. No token, digest or plan is ever logged."""

from __future__ import annotations

import logging
import sys
from typing import Any, Final, TextIO

import structlog

_SHARED: Final[tuple[Any, ...]] = (
    structlog.stdlib.add_log_level,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
)


def configure_logging(stream: TextIO | None = None, level: int = logging.INFO) -> None:
    """Log to a stream, standard error by default; the loggers of the standard library go there, too."""
    target = stream or sys.stderr
    formatter = structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=_SHARED,
        processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *_rendering(target)],
    )
    handler = logging.StreamHandler(target)
    handler.setFormatter(formatter)
    logging.basicConfig(handlers=[handler], level=level, force=True)
    structlog.configure(
        processors=[*_SHARED, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=False,
    )


def _rendering(stream: TextIO) -> tuple[Any, ...]:
    if stream.isatty():
        return (structlog.dev.ConsoleRenderer(),)
    return (structlog.processors.format_exc_info, structlog.processors.JSONRenderer(sort_keys=True))
