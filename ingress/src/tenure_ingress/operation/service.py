"""What every operation works with, and how it asks the database."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from tenure_contracts.error import Refusal
from tenure_contracts.wire.session import Advice
from tenure_ingress.lanes import Lanes
from tenure_ingress.repository.acknowledgement import Acknowledgement, Name
from tenure_ingress.repository.call import Rows
from tenure_ingress.repository.row import Judged
from tenure_ingress.settings import Settings
from tenure_ingress.waiting import Room

R = TypeVar("R")
J = TypeVar("J", bound=Judged)


@dataclass(frozen=True)
class Service:
    """The database as tenure_ingress, its lanes, the pulls that wait, and whom to tell about what changed.

    `work_returned`: work became dispatchable. `work_ended`: control has something to decide.
    """

    settings: Settings
    lanes: Lanes
    room: Room
    work_returned: Callable[[], None]
    work_ended: Callable[[], None]

    @property
    def advice(self) -> Advice:
        """The pace that workers are told to keep."""
        settings = self.settings
        return Advice(heartbeat_s=settings.heartbeat_s, renew_s=self.renew_s(), lease_s=settings.lease_s)

    def renew_s(self) -> float:
        """When to renew next: a little earlier for some, so that a fleet does not renew in step."""
        return round(self.settings.renew_s * random.uniform(0.85, 1.0), 3)  # noqa: S311 - jitter, not a secret

    async def rows(self, unit: Rows[R]) -> Sequence[R]:
        """All rows of a call."""
        return await self.lanes.database.call(unit)

    async def row(self, unit: Rows[J]) -> J:
        """The only row of a call. Raises Refusal when it says so."""
        (row,) = await self.lanes.database.call(unit)
        check(row)
        return row

    async def acknowledge(self, name: Name, item: Acknowledgement) -> Any:
        """The row of one acknowledgement, which travels with others of its name.

        Raises Refusal when the row says so, and StillLocked when its rows stayed locked for a second.
        """
        lane = self.lanes.acknowledgements[name]
        keys, content = (item.fence.attempt,), (item.caller, item.fence, item.content)
        row = await lane.submit(item, keys=keys, content=content)
        check(row)
        return row


DETAILS: Final = {
    "session_fenced": "The session was replaced, is offline, or is not of this worker.",
    "lease_fenced": "The lease is not held under this fence.",
    "lease_expired": "The lease ran out before the start: renew it, then start.",
    "lease_not_started": "The attempt has not crossed the start barrier: send `starting` first.",
    "already_started": "The attempt runs already: a start failure can no longer be reported.",
    "handle_conflict": "The attempt runs under another executor handle.",
    "content_conflict": "The same was reported before with other content; the first report stands.",
    "stop_requested": "The attempt is to be stopped: do not start it.",
    "attempt_settled": "The attempt has ended; what was new in the report is kept as late evidence.",
    "attestation_conflict": "The sequence is not the next one: continue after `last_sequence`.",
    "unknown_attempt": "There is no such attempt.",
    "invalid_field": "$.lease.lease_version is greater than the version that was given out.",
}


def check(row: Judged) -> None:
    """Raise the Refusal that a row carries, if it carries one."""
    code = row["refusal"]
    if code is not None:
        raise Refusal(code, DETAILS.get(code, ""))
