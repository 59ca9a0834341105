"""One pull in the waiting room, and what its session is known to match."""

from __future__ import annotations

from dataclasses import dataclass, field
from uuid import UUID

import trio


@dataclass(frozen=True, slots=True)
class Knowledge:
    """Which placement classes a session matches, of all up to `seen`. A newer one may match or not."""

    classes: frozenset[int]
    seen: int

    def may_match(self, placement: int) -> bool:
        """Whether work of this class is worth a claim."""
        return placement in self.classes or placement > self.seen


@dataclass(eq=False, slots=True)
class Place:
    """One pull in the room. `called_for`: the class for which it was called, and is about to claim."""

    session: UUID
    arrival: int
    knowledge: Knowledge
    called_for: int | None = None
    _is_recalled: bool = False
    _change: trio.Event = field(default_factory=trio.Event)

    @property
    def is_called(self) -> bool:
        """Whether it is to claim: for work, or to hear what became of its session."""
        return self.called_for is not None or self._is_recalled

    async def wait(self) -> None:
        """Wait until it is called, or the room is closed."""
        await self._change.wait()

    def wake(self) -> None:
        """End the wait."""
        self._change.set()

    def recall(self) -> None:
        """End the wait with a claim that is for no work. Told during a claim, it asks for one more."""
        self._is_recalled = True
        self.wake()

    def begin_claim(self) -> None:
        """What it was recalled for is answered by the claim that begins now; what is told later is not."""
        self._is_recalled = False

    def rest(self) -> None:
        """Wait anew, unless it was recalled since its claim began."""
        self.called_for = None
        if not self._is_recalled:
            self._change = trio.Event()
