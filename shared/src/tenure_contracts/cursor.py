"""The trigger cursor: the mutable scheduling row of one trigger.

A claim authorises one scheduling decision by one control replica, nothing else, and ends with exactly one
decision, or by an operator's change of the trigger, which clears the claim and raises the version. An
expired claim is taken over (`claimed -> claimed`, claim version + 1), after which the old owner can no
longer commit.
"""

from __future__ import annotations

from typing import Final, Literal

from tenure_contracts.machine import Table, check, edges

Decision = Literal["initialize", "skip", "admit"]
DECISIONS: Final[tuple[Decision, ...]] = ("initialize", "skip", "admit")

STATES: Final = ("idle", "claimed")
TERMINAL: Final[frozenset[str]] = frozenset()

TRANSITIONS: Final[Table] = (
    edges(None, "idle") | edges("idle", "claimed") | edges("claimed", "idle", "claimed")
)


def check_transition(before: str | None, after: str) -> None:
    """Raise StateError unless a cursor may go from `before` (None: not there yet) to `after`."""
    check("cursor", TRANSITIONS, before, after)
