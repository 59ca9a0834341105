"""`python -m tenure_control`: the process, with signals and exit code. Settings come from the environment."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Mapping

import structlog
import trio

from tenure_control.app import serve
from tenure_control.log import configure_logging
from tenure_control.process import ExitCode
from tenure_control.settings import Settings, SettingsError, read_settings


def main(environ: Mapping[str, str] = os.environ) -> int:
    """Serve until SIGTERM or SIGINT; returns the exit code of the process."""
    configure_logging()
    log = structlog.get_logger("tenure.control")
    try:
        settings = read_settings(environ)
    except SettingsError as error:
        log.critical("settings_refused", reason=str(error))
        return ExitCode.CONFIGURATION
    try:
        return trio.run(_under_signals, settings)
    except Exception:
        log.exception("failed")
        return ExitCode.FAILED


async def _under_signals(settings: Settings) -> int:
    with trio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        return await serve(settings, signals=signals)


if __name__ == "__main__":
    sys.exit(main())
