"""The recovery control: the investigation of one candidate, by one claim at a time.

A claim permits investigating only; what is decided is compared with the candidate's own fences when it is
committed. The answer is `resolved` (nothing to do any more), `retry` (look again when due, or at once on
a newer attestation) or `manual` (the evidence is contradictory or cannot be verified: an operator's
release or a newer attestation makes it `available` again). An expired claim is taken over.
"""

from __future__ import annotations

from typing import Final

from tenure_contracts.machine import Table, check, edges

STATES: Final = ("available", "claimed", "resolved", "retry", "manual")
TERMINAL: Final[frozenset[str]] = frozenset()

TRANSITIONS: Final[Table] = (
    edges(None, "available")
    | edges("available", "claimed")
    | edges("claimed", "resolved", "retry", "manual", "claimed")
    | edges("resolved", "claimed")
    | edges("retry", "claimed")
    | edges("manual", "available")
)


def check_transition(before: str | None, after: str) -> None:
    """Raise StateError unless a recovery control may go from `before` (None: not there yet) to `after`."""
    check("recovery", TRANSITIONS, before, after)
