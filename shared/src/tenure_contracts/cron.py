"""Cron rules that need no calendar: macros, the misfire decision, and jitter.

The arithmetic of occurrences is elsewhere, behind the one wrapper that knows the cron library.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Final, Literal

from tenure_contracts.cursor import Decision

Misfire = Literal["fire_once", "skip"]
Overlap = Literal["allow", "skip", "queue_one", "cancel_other"]

MACROS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "@hourly": "0 * * * *",
        "@daily": "0 0 * * *",
        "@midnight": "0 0 * * *",
        "@weekly": "0 0 * * 0",
        "@monthly": "0 0 1 * *",
        "@yearly": "0 0 1 1 *",
        "@annually": "0 0 1 1 *",
    }
)


def expand_macro(expression: str) -> str:
    """The five fields of a macro; another text is returned as it is. An unknown macro is a ValueError."""
    if not expression.startswith("@"):
        return expression
    if expression not in MACROS:
        raise ValueError(f"{expression[:40]!r} is not one of the macros {', '.join(MACROS)}")
    return MACROS[expression]


def decide_misfire(due: datetime | None, observed: datetime, grace_us: int, policy: Misfire) -> Decision:
    """What to do with a cursor whose next fire time is `due`, as the database clock showed `observed`.

    Not due, or never computed: initialise. Late by more than the grace under `skip`: skip. Else admit,
    once, however many occurrences were missed.
    """
    if due is None or due > observed:
        return "initialize"
    if policy == "skip" and observed - due > timedelta(microseconds=grace_us):
        return "skip"
    return "admit"


def jitter_us(trigger: str, occurrence: datetime, jitter_max_us: int) -> int:
    """The delay of one occurrence, 0 to `jitter_max_us`: the same for every replica that computes it."""
    text = f"tenure/jitter\0{trigger}\0{occurrence.timestamp():.6f}"
    share = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")
    return share % (jitter_max_us + 1)
