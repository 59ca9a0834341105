"""What becomes of an attempt whose authority ended.

A lease that ran out proves that authority ended, never that the process stopped. Unstarted work goes back to
the queue at once; started work waits for evidence.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Literal

from tenure_contracts.attempt import TERMINAL

LEASE_MAX: Final = timedelta(hours=1, minutes=1)
"""No lease is granted for longer than an hour; one that ends later was granted under another clock."""

FIRST_WAIT_S: Final = 5.0
LONGEST_WAIT_S: Final = 300.0

Decision = Literal["resolved", "return_to_queue", "investigate"]


@dataclass(frozen=True, slots=True)
class LeaseFacts:
    """An attempt and its lease, as read at `now`; without a lease row `lease_state` is None."""

    attempt_status: str
    lease_state: str | None
    expires_at: datetime | None
    now: datetime


def decide_recovery(facts: LeaseFacts) -> Decision:
    """Whether anything is to be done about this attempt, and who may say what."""
    if facts.attempt_status in TERMINAL or is_live(facts):
        return "resolved"
    if facts.attempt_status != "claimed":
        return "investigate"
    # Without a lease it is nobody's: dispatchable, as it should be.
    return "return_to_queue" if facts.lease_state == "leased" else "resolved"


def is_live(facts: LeaseFacts) -> bool:
    """Whether somebody holds the attempt with authority."""
    if facts.lease_state != "leased" or facts.expires_at is None:
        return False
    return facts.now < facts.expires_at <= facts.now + LEASE_MAX


def next_look_s(failures: int, spread: float) -> float:
    """Seconds until an undecided attempt is looked at again, doubling to five minutes.

    `spread` is 0 to 1, by chance: candidates of one outage must not come back together.
    """
    longest = min(LONGEST_WAIT_S, FIRST_WAIT_S * 2.0 ** min(failures, 16))
    return longest * (0.5 + spread / 2)
