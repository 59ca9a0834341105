"""Refused authentications, counted until they are audited, in bounded memory."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from typing import Final, NamedTuple
from uuid import UUID, uuid4

import trio

from tenure_contracts.identity import Token
from tenure_http import origin_of

KINDS_KEPT: Final = 256
KINDS_TOLD: Final = 16
"""A report of so many stays below the 4 KiB that the database takes."""


class Kind(NamedTuple):
    """What refusals have in common. `credential`: the id that was presented, which need not exist."""

    code: str
    peer: str
    credential: str | None


@dataclass
class Tally:
    """Refusals since `since` (trio time): by code, and by kind for the first kinds that came."""

    since: float = field(default_factory=trio.current_time)
    codes: Counter[str] = field(default_factory=Counter)
    kinds: Counter[Kind] = field(default_factory=Counter)

    def count(self, kind: Kind) -> None:
        """Add a refusal. Beyond `KINDS_KEPT` kinds it is counted by its code only."""
        self.codes[kind.code] += 1
        self._note(kind, 1)

    def add(self, newer: Tally) -> None:
        """Add what another one counted after this."""
        self.codes.update(newer.codes)
        for kind, count in newer.kinds.items():
            self._note(kind, count)

    def report(self, now: float) -> dict[str, object]:
        """What the audit keeps: counts by code, the most frequent kinds, and how many are of no such kind."""
        most = self.kinds.most_common(KINDS_TOLD)
        return {
            "seconds": math.ceil(now - self.since),
            "codes": dict(self.codes),
            "most": [{**kind._asdict(), "count": count} for kind, count in most],
            "others": self.codes.total() - sum(count for _, count in most),
        }

    def _note(self, kind: Kind, count: int) -> None:
        if kind in self.kinds or len(self.kinds) < KINDS_KEPT:
            self.kinds[kind] += count


class Refusals:
    """What one process, which goes by the id `process`, has refused and not audited yet."""

    def __init__(self) -> None:
        self.process: Final[UUID] = uuid4()
        self._tally = Tally()

    def count(self, code: str, peer: str, token: Token | None) -> None:
        """Note a refusal."""
        self._tally.count(Kind(code, origin_of(peer), token.id if token else None))

    def take(self) -> Tally | None:
        """What was counted; from now on the counts begin anew. None when there was nothing."""
        if not self._tally.codes:
            return None
        taken, self._tally = self._tally, Tally()
        return taken

    def put_back(self, tally: Tally) -> None:
        """What was taken could not be audited."""
        tally.add(self._tally)
        self._tally = tally
