"""Waiting for a database that a process may start on."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from typing import Final

import structlog
import trio

from tenure_postgres.readiness import Finding

SHORTEST_PAUSE_S: Final = 0.1
LONGEST_PAUSE_S: Final = 2.0

_log = structlog.get_logger("tenure.process")


class Unusable(Exception):  # noqa: N818 - a state of the database, told once
    """The database cannot be started on. `temporary`: it does not answer; else it answers and is wrong."""

    def __init__(self, findings: Iterable[Finding], *, temporary: bool) -> None:
        super().__init__("; ".join(dict.fromkeys(finding.sentence for finding in findings)))
        self.temporary = temporary


async def wait_usable(
    find: Callable[[], Awaitable[Sequence[Finding]]],
    deadline: float,
    on_reason: Callable[[str], None],
    *,
    patient: bool = False,
) -> None:
    """Return once `find` finds nothing wrong; until then `on_reason` hears what is.

    Raises Unusable at once when the database answers and is wrong, and at `deadline` (trio time) when it does
    not answer. A `patient` caller waits for both for ever: once a process was ready, nothing about the
    database ends it.
    """
    for pause_s in pauses():
        findings = await find()
        if not findings:
            return
        temporary = all(finding.kind == "unavailable" for finding in findings)
        unusable = Unusable(findings, temporary=temporary)
        if not patient and (not temporary or trio.current_time() + pause_s > deadline):
            raise unusable
        _log.warning("database_not_usable", reason=str(unusable))
        on_reason(str(unusable))
        await trio.sleep(pause_s)


def pauses(longest_s: float = LONGEST_PAUSE_S) -> Iterator[float]:
    """Seconds between tries, without end: longer each time, and never two processes in step."""
    pause_s = SHORTEST_PAUSE_S
    while True:
        yield pause_s * random.uniform(0.5, 1.0)  # noqa: S311 - jitter, not a secret
        pause_s = min(pause_s * 2, longest_s)
