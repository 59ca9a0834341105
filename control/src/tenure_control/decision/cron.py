"""The one wrapper around the cron library: occurrences of an expression in a time zone, as instants in UTC.

Debian's rules, with the decisions about daylight saving of the design: a wall-clock time that does not exist
fires once, at the first valid instant after the gap; one that exists twice fires once, at the first of the
two, when the expression names fixed hours and minutes; other expressions follow elapsed time. The library
does so for five fields; here six fields, which it leaves alone, get the same rule.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from itertools import islice
from typing import Final
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError

from tenure_contracts.cron import expand_macro

# What an expression does has no year in it: whether it can ever fire is the same from any moment on. The
# library gives up after 50 years; the widest gap there is, 29 February on one weekday, is 40.
_ANY_MOMENT: Final = datetime(2026, 1, 1, tzinfo=UTC)

# Inside the second pass of a repeated hour the library begins with the first pass: at most so many results
# are past, one per second of the longest repetition.
_PAST_RESULTS: Final = 3 * 3600


class CronError(ValueError):
    """The expression cannot be read, or can never fire."""


def check_expression(cron: str, timezone: str) -> None:
    """Raise CronError, within some milliseconds, unless the expression is one that will fire."""
    if not next_fires(cron, timezone, _ANY_MOMENT, 1):
        raise _never(cron)


def next_fires(cron: str, timezone: str, after: datetime, count: int) -> list[datetime]:
    """The first `count` occurrences after a moment; fewer when no more come. Raises CronError."""
    return list(islice(occurrences(cron, timezone, after), count))


def occurrences(cron: str, timezone: str, after: datetime) -> Iterator[datetime]:
    """Every occurrence strictly after an aware moment, in order, in UTC. Raises CronError at once."""
    return _advancing(_simulation(cron, after.astimezone(ZoneInfo(timezone))), after)


def _advancing(simulation: CronSim, after: datetime) -> Iterator[datetime]:
    latest, past = after.astimezone(UTC), 0
    for local in simulation:
        occurrence = local.astimezone(UTC)
        if occurrence > latest:
            latest = occurrence
            yield occurrence
            continue
        past += 1
        if past > _PAST_RESULTS:
            return


def _simulation(cron: str, start: datetime) -> CronSim:
    text = _expanded(cron)
    try:
        simulation = CronSim(text, start)
    except CronSimError as error:
        raise _unreadable(text, start, error) from error
    if _names_fixed_hours(simulation) and simulation.fixup_tz is None and start.tzinfo is not UTC:
        simulation.fixup_tz = start.tzinfo
        simulation.dt = simulation.dt.replace(tzinfo=None)
    return simulation


def _expanded(cron: str) -> str:
    try:
        return expand_macro(cron)
    except ValueError as error:
        raise CronError(str(error)) from error


def _names_fixed_hours(simulation: CronSim) -> bool:
    _, minutes, hours, *_ = simulation.parts
    return not minutes.startswith("*") and not hours.startswith("*")


def _unreadable(text: str, start: datetime, error: CronSimError) -> CronError:
    # The library refuses 30 February with the words that it has for a misspelt day: try it in every month.
    if "day-of-month" in str(error):
        *fields, _, weekday = text.split()
        with suppress(CronSimError):
            CronSim(" ".join([*fields, "*", weekday]), start)
            return _never(text)
    return CronError(f"is no cron expression: {str(error)[0].lower()}{str(error)[1:]}")


def _never(cron: str) -> CronError:
    return CronError(f"can never fire: no date fits {cron!r}")
