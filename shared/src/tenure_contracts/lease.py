"""The run lease: the only authority to execute one attempt.

A lease that ran out proves that authority ended, never that the process stopped. Its expiry is therefore
not a state: an expired lease stays `leased`, with its holder free to renew it, until somebody takes it
away with a transition: recovery, or a replacement of the session before the start.

`leased -> leased` is a renewal, the adoption by a newer session, or an expiry brought forward. `released`
ends authority without a report, for one of the reasons below, and can be claimed again under the next
generation, in which stop, deadline and attested facts start empty. `completed` ends it with a report. The
version rises by one at each transition, and the fence of a holder names the generation.
"""

from __future__ import annotations

from typing import Final

from tenure_contracts.machine import Table, check, edges

STATES: Final = ("leased", "released", "completed")
TERMINAL: Final = frozenset({"completed"})

RELEASE_REASONS: Final = ("declined", "shutdown", "lease_expired", "superseded", "settled")
"""`superseded`: its session was replaced before the start."""

TRANSITIONS: Final[Table] = (
    edges(None, "leased") | edges("leased", "leased", "released", "completed") | edges("released", "leased")
)


def check_transition(before: str | None, after: str) -> None:
    """Raise StateError unless a lease may go from `before` (None: not there yet) to `after`."""
    check("lease", TRANSITIONS, before, after)
