"""Chance: everything that a rule leaves open, decided by one number."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeVar

from hypothesis import strategies as st

FRONT: Final = (0,) * 12 + (1,) * 6 + (2,) * 3 + tuple(range(3, 12))

T = TypeVar("T")


class Chance:
    """Choices out of one number, because drawing many costs more than a call of the protocol.

    Zero is the plainest case, so that shrinking leads there.
    """

    def __init__(self, number: int) -> None:
        self._number = number
        self._rest = number

    def below(self, bound: int) -> int:
        """A number from 0."""
        self._rest, found = divmod(self._rest, bound)
        return found

    def of(self, options: Sequence[T]) -> T:
        """One of these."""
        return options[self.below(len(options))]

    def front(self, options: Sequence[T]) -> T:
        """One of these, mostly from the front."""
        return options[self.of(FRONT) % len(options)]

    def rarely(self) -> bool:
        """One time in eight."""
        return self.below(8) == 7

    def often(self) -> bool:
        """Every other time."""
        return self.below(2) == 0

    def __repr__(self) -> str:
        return f"Chance({self._number})"


HALF: Final = st.integers(0, 2**24 - 1)
"""Greater numbers would not be drawn evenly."""

CHANCE: Final = st.tuples(HALF, HALF).map(lambda halves: Chance(halves[0] + 2**24 * halves[1]))
