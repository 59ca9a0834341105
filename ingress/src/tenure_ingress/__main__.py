"""`python -m tenure_ingress`: the process, with signals and exit code. Settings come from the environment."""

from __future__ import annotations

import logging
import os
import signal
import sys

import structlog
import trio

from tenure_ingress.app import CONFIGURATION, serve
from tenure_ingress.log import configure_logging
from tenure_ingress.settings import Settings, SettingsError, read_settings


def main() -> int:
    """Serve until SIGTERM or SIGINT; returns the exit code of the process."""
    configure_logging()
    try:
        settings = read_settings(os.environ)
    except SettingsError as error:
        structlog.get_logger("tenure.ingress").critical("settings_refused", reason=str(error))
        return CONFIGURATION
    if settings.debug:
        configure_logging(level=logging.DEBUG)
    return trio.run(_under_signals, settings)


async def _under_signals(settings: Settings) -> int:
    with trio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        return await serve(settings, signals=signals)


if __name__ == "__main__":
    sys.exit(main())
