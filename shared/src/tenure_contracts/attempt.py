"""The attempt: one try of a run, or of one workflow step.

`claimed` is the birth state: admitted, not started. Whether a worker holds the attempt is a fact of its
lease, not of the attempt, so that a lease that ends before the start changes nothing here: the attempt is
dispatchable again.

`claimed -> starting` is the **start barrier**, and pins the deadline. Before it no outside effect can have
happened, so the attempt may end without evidence (`cancelled`, `failed`) and can never be `lost`. After
it, an end needs a report or evidence: `starting` and `running` end as reported, and become `lost` only
when recovery has proof that nothing runs and nothing was reported.

Terminal is final: a callback on a terminal attempt is answered with the stored truth and changes nothing.
No attempt is terminal while its lease is `leased`. A new try is a new attempt, which inherits nothing.
"""

from __future__ import annotations

from typing import Final

from tenure_contracts.machine import Table, check, edges

STATES: Final = ("claimed", "starting", "running", "succeeded", "failed", "cancelled", "timed_out", "lost")
TERMINAL: Final = frozenset({"succeeded", "failed", "cancelled", "timed_out", "lost"})
STARTED: Final = frozenset({"starting", "running"})
"""Past the start barrier and not ended: only evidence ends these without a report."""

TRANSITIONS: Final[Table] = (
    edges(None, "claimed")
    | edges("claimed", "starting", "cancelled", "failed")
    | edges("starting", "running", *TERMINAL)
    | edges("running", *TERMINAL)
)


def check_transition(before: str | None, after: str) -> None:
    """Raise StateError unless an attempt may go from `before` (None: not there yet) to `after`."""
    check("attempt", TRANSITIONS, before, after)
