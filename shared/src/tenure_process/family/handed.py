"""What a parent hands to one of the processes that serve for it: sockets, a number, and a pipe of orders.

The sockets are bound, so that no process has to know how several share an address. Orders come on standard
input, a byte with the number of each signal; its end means that the parent is gone, however it went.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self


@dataclass(frozen=True)
class Handed:
    """Descriptors of bound sockets: for the traffic, and for what the parent asks. `index` counts from 0."""

    index: int
    listen: tuple[int, ...]
    probe: int

    @property
    def descriptors(self) -> tuple[int, ...]:
        """All that the process inherits."""
        return (*self.listen, self.probe)

    @property
    def arguments(self) -> list[str]:
        """How the process is told, on its command line: nothing of it is secret."""
        return ["--handed", ",".join(map(str, (self.index, self.probe, *self.listen)))]

    @classmethod
    def read(cls, arguments: Sequence[str]) -> Self | None:
        """The other end of `arguments`; None for a process that nobody handed anything.

        Raises ValueError for other arguments.
        """
        if not arguments:
            return None
        if len(arguments) != 2 or arguments[0] != "--handed":
            raise ValueError(f"{' '.join(arguments)}: settings are given in the environment")
        index, probe, *listen = map(int, arguments[1].split(","))
        return cls(index, tuple(listen), probe)
