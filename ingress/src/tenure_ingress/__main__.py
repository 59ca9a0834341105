"""`python -m tenure_ingress`: the process, with signals and exit code; or several, kept by a parent."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from tenure_ingress.app import serve
from tenure_ingress.settings import Settings, read_settings
from tenure_process.exit import ExitCode
from tenure_process.family.family import Plan
from tenure_process.family.handed import Handed
from tenure_process.family.parent import serve_many
from tenure_process.main import run
from tenure_process.source import FILE, gather

BEYOND_DRAIN_S: Final = 10.0
"""What a process may take to stop beside its drain budget: lanes, pools, and a slow machine."""


@dataclass(frozen=True)
class _Told:
    """Settings, and the names and texts that they were read from: children are told the same, for ever."""

    settings: Settings
    names: Mapping[str, str]

    @property
    def debug(self) -> bool:
        return self.settings.debug


def main(
    environ: Mapping[str, str] = os.environ,
    flags: Mapping[str, str] = MappingProxyType({}),
    handed: Handed | None = None,
) -> int:
    """Serve until SIGTERM or SIGINT; returns the exit code of the process.

    `flags` are settings by their names in the environment, and win over it. `handed` is what a parent gave.
    """

    def read() -> _Told:
        names = gather(environ, flags)
        return _Told(read_settings(names), names)

    async def start(settings: _Told, *, signals: AsyncIterator[Any]) -> int:
        if handed is None and settings.settings.processes > 1:
            return await serve_many(plan(settings.settings, settings.names), signals=signals)
        return await serve(settings.settings, signals=signals, handed=handed)

    return run("tenure.ingress", read, start, process=handed.index if handed else None)


def plan(settings: Settings, names: Mapping[str, str]) -> Plan:
    """What a parent runs for these settings; `names` is the environment of its processes."""
    return Plan(
        command=[sys.executable, "-m", "tenure_ingress"],
        environ={name: text for name, text in names.items() if name != FILE},
        count=settings.processes,
        listen=settings.listen,
        probe_listen=settings.probe_listen,
        stop_budget_s=settings.drain_budget_s + BEYOND_DRAIN_S,
        prefix="tenure_ingress",
    )


def main_of_module(arguments: Sequence[str]) -> int:
    """`main`, for a process that a parent may have started. 64: these arguments are not a parent's."""
    try:
        handed = Handed.read(arguments)
    except ValueError as error:
        print(f"tenure_ingress: {error}", file=sys.stderr)  # noqa: T201 - nothing logs yet
        return ExitCode.USAGE
    return main(handed=handed)


if __name__ == "__main__":
    sys.exit(main_of_module(sys.argv[1:]))
