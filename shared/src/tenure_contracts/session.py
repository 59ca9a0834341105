"""The worker session: one incarnation of a worker process, by an id that is never used twice.

Expiry is not a state: an expired session can be revived by its holder, or be replaced by a newer one. At
most one session of a worker is current; a newer one replaces it and fences it by its generation. A
session that went `offline` never comes back, it can only be replaced; rows are kept, because an id must
never look new again.
"""

from __future__ import annotations

from typing import Final

from tenure_contracts.machine import Table, check, edges

STATES: Final = ("online", "draining", "offline", "replaced")
TERMINAL: Final = frozenset({"replaced"})

TRANSITIONS: Final[Table] = (
    edges(None, "online")
    | edges("online", "draining", "offline", "replaced")
    | edges("draining", "offline", "replaced")
    | edges("offline", "replaced")
)


def check_transition(before: str | None, after: str) -> None:
    """Raise StateError unless a session may go from `before` (None: not there yet) to `after`."""
    check("session", TRANSITIONS, before, after)
