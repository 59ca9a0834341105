"""The leases that this process holds, and what the ingress wants of each: one table, read by every task."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Literal
from uuid import UUID

import anyio

from tenure_contracts.wire.lease import Fence, RenewedLease, Stop
from tenure_worker.journal import Lease
from tenure_worker.machine import boot_clock
from tenure_worker.wait import Wake

# Why a command has to end although nobody asked its own task: a stop, or authority that is gone.
Interruption = Literal["stop", "authority_lost"]


@dataclass
class Held:
    """One lease. `interrupted` is set once, for the first reason that came.

    `contact_at`: when, on the boot clock, the last request was sent that proved the lease good.
    """

    offer: UUID
    token: str = field(repr=False)
    lease: Lease
    grace_s: float = 0.0
    contact_at: float = field(default_factory=boot_clock)
    stop: Stop | None = None
    interruption: Interruption | None = None
    interrupted: anyio.Event = field(default_factory=anyio.Event)
    renewed: anyio.Event = field(default_factory=anyio.Event)

    def fence(self) -> Fence:
        """The proof of this lease as it was last told."""
        return Fence(
            attempt=self.lease.attempt,
            offer=self.offer,
            token=self.token,
            lease_generation=self.lease.lease_generation,
            lease_version=self.lease.lease_version,
        )

    def note_version(self, version: int | None) -> None:
        """Take over a version that an answer told; older answers arrive late and change nothing."""
        if version is not None and version > self.lease.lease_version:
            lease = self.lease
            self.lease = Lease(
                attempt=lease.attempt, lease_generation=lease.lease_generation, lease_version=version
            )

    def note_stop(self, stop: Stop | None) -> None:
        """Take over a stop request."""
        if stop is not None:
            self.stop = self.stop or stop
            self.interrupt("stop")

    def interrupt(self, reason: Interruption) -> None:
        """End what runs under this lease, for the first reason given."""
        if self.interruption is None:
            self.interruption = reason
            self.interrupted.set()

    def apply(self, answer: RenewedLease, *, sent_at: float) -> None:
        """Take over what a renewal that was sent at some time of the boot clock said about this lease."""
        self.note_version(answer.lease_version)
        self.note_stop(answer.stop)
        if answer.disposition == "stop":
            self.interrupt("authority_lost")
        if answer.status in ("renewed", "stop"):
            self.contact_at = max(self.contact_at, sent_at)
            self.renewed.set()
            self.renewed = anyio.Event()


class Board:
    """All leases of this process, and how many slots are taken: by a lease or by an older survivor.

    `survivors`: how many records of an older process may stand for a command that still runs. They take their
    slots before the first pull, not once somebody has looked at them.
    """

    def __init__(self, limit: int, *, survivors: int = 0) -> None:
        self.held: dict[UUID, Held] = {}
        self.slot_freed = Wake()
        self.renewal_due = Wake()
        self._limit = limit
        self._survivors = survivors
        self._working = 0

    @property
    def free_slots(self) -> int:
        """How many more attempts may be started."""
        return max(0, self._limit - len(self.held) - self._survivors)

    @property
    def is_idle(self) -> bool:
        """Whether nothing is left that this process has to finish or report."""
        return self._working == 0

    @property
    def longest_grace_s(self) -> float:
        """How long the most patient of the running commands may take to stop."""
        return max((held.grace_s for held in self.held.values()), default=0.0)

    @contextmanager
    def working(self) -> Iterator[None]:
        """Something is being finished or reported until the block ends."""
        self._working += 1
        try:
            yield
        finally:
            self._working -= 1
            self.slot_freed.ring()

    async def wait_idle(self) -> None:
        """Wait until nothing is left to finish or report."""
        while not self.is_idle:
            await self.slot_freed.wait(1.0)

    def add(self, held: Held) -> None:
        """A lease was taken."""
        self.held[held.lease.attempt] = held

    def remove(self, held: Held) -> None:
        """A lease is over for this process."""
        self.held.pop(held.lease.attempt, None)
        self.slot_freed.ring()

    def release_survivor(self) -> None:
        """What an older process left in one slot has ended, or cannot be decided."""
        self._survivors -= 1
        self.slot_freed.ring()
