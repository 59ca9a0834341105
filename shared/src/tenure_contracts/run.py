"""The run: one user-visible execution of a task revision or a workflow revision.

A task run is born `queued`. A worker's pull makes it `dispatching`: somebody holds the attempt, nothing
has started. When that authority ends without a start (declined, expired, the session replaced) the run
returns to `queued` and nothing is spent; the `running` acknowledgement makes it `running`.

From both of these a run ends by a report or by trusted evidence: `succeeded`, `failed`, `cancelled`,
`timed_out`. Two states stand between tries. `retry_wait` waits for the delay of the compiled policy, and
is reached either directly, when a report or a settlement leaves another try, or from `lost`. `lost` means
"proven gone without a completion" and nothing else: a lease that ran out is never enough. It is not
terminal for a run, because the retry stage still asks the policy; it ends as `retry_wait`, `failed` or,
under a cancel intent, `cancelled`.

A run never goes from `lost` to `queued`: a retry without delay passes `retry_wait` within one
transaction, so that each run's events read the same. Work that is only waiting (`queued`, `retry_wait`)
can be cancelled or failed at once, because nobody executes it.

A workflow run executes nothing itself. It is born `running`, its steps carry the rest, and it only ever
becomes terminal; in particular it is never `lost`.

The database enforces the same tables; its guards are generated from this module.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, Literal

from tenure_contracts.machine import Table, check, edges

Kind = Literal["task", "workflow"]
KINDS: Final[tuple[Kind, ...]] = ("task", "workflow")

STATES: Final = (
    "queued",
    "dispatching",
    "running",
    "retry_wait",
    "lost",
    "succeeded",
    "failed",
    "cancelled",
    "timed_out",
)
TERMINAL: Final = frozenset({"succeeded", "failed", "cancelled", "timed_out"})

TRANSITIONS: Final[Mapping[str, Table]] = MappingProxyType(
    {
        "task": edges(None, "queued")
        | edges("queued", "dispatching", "cancelled", "failed")
        | edges("dispatching", "queued", "running", "retry_wait", "lost", *TERMINAL)
        | edges("running", "retry_wait", "lost", *TERMINAL)
        | edges("lost", "retry_wait", "failed", "cancelled")
        | edges("retry_wait", "queued", "cancelled", "failed"),
        "workflow": edges(None, "running") | edges("running", *TERMINAL),
    }
)


def check_transition(kind: Kind, before: str | None, after: str) -> None:
    """Raise StateError unless a run of this kind may go from `before` (None: not there yet) to `after`."""
    check(f"run ({kind})", TRANSITIONS[kind], before, after)
