"""Durations in definitions: one strict grammar, read into integer microseconds.

`2h30m`, `90s`, `500ms`, `7d`: whole numbers with a unit, larger units first, each unit at most once, no
sign, no space, no fraction. Everything else is refused and the error shows what was read, because a
duration that is guessed (is `90` seconds or milliseconds?) is a wrong time limit in production.
"""

from __future__ import annotations

import re
from typing import Final

_UNITS: Final = (
    ("d", 86_400_000_000),
    ("h", 3_600_000_000),
    ("m", 60_000_000),
    ("s", 1_000_000),
    ("ms", 1_000),
)
_GRAMMAR: Final = re.compile(
    "".join(rf"(?:(?P<{unit}>0|[1-9][0-9]{{0,11}}){unit})?" for unit, _ in _UNITS), re.ASCII
)


class DurationError(ValueError):
    """A text is not a duration."""


def parse_duration(text: str) -> int:
    """Microseconds of a duration text. Raises DurationError that shows the text and the right form."""
    match = _GRAMMAR.fullmatch(text)
    if match is None or not text:
        raise DurationError(
            f"{text[:40]!r} is not a duration: write whole numbers with the units d, h, m, s, ms, "
            f"larger units first and each once, such as 90s, 2h30m or 500ms"
        )
    return sum(int(match[unit] or 0) * size for unit, size in _UNITS)


def format_duration(duration_us: int) -> str:
    """The shortest text that `parse_duration` reads as this duration, cut to whole milliseconds."""
    if duration_us < 0:
        raise DurationError(f"{duration_us} microseconds: a duration has no sign")
    pieces: list[str] = []
    rest = duration_us
    for unit, size in _UNITS:
        count, rest = divmod(rest, size)
        if count:
            pieces.append(f"{count}{unit}")
    return "".join(pieces) or "0s"
