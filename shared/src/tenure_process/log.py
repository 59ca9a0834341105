"""One event per line: JSON, or readable on a terminal. No token, digest or plan is ever logged."""

from __future__ import annotations

import logging
import sys
from functools import partial
from typing import Any, Final, TextIO

import structlog
from structlog.typing import EventDict

_SHARED: Final[tuple[Any, ...]] = (
    structlog.stdlib.add_log_level,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
)


def configure_logging(
    stream: TextIO | None = None, level: int = logging.INFO, *, process: int | None = None
) -> None:
    """Log to a stream, standard error by default; the loggers of the standard library go there, too.

    With `process` every entry says which of several processes it is from.
    """
    target = stream or sys.stderr
    shared = _SHARED if process is None else (*_SHARED, partial(_say, process))
    formatter = structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=shared,
        processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *_rendering(target)],
    )
    handler = logging.StreamHandler(target)
    handler.setFormatter(formatter)
    logging.basicConfig(handlers=[handler], level=level, force=True)
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=False,
    )


def _say(process: int, logger: object, method: str, entry: EventDict) -> EventDict:
    entry.setdefault("process", process)
    return entry


def _rendering(stream: TextIO) -> tuple[Any, ...]:
    if stream.isatty():
        # Its own tracebacks show local variables where `rich` is installed, and those hold tokens.
        return (structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback),)
    return (structlog.processors.format_exc_info, structlog.processors.JSONRenderer(sort_keys=True))
