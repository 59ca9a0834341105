"""How many authentications may fail: a budget for each peer, and one for all of them together.

A budget is a bucket of tokens. It holds as many as there may be failures in a minute, a failure takes one,
and time fills it up again within a minute. While it is empty a request is refused before its body is read
and before the database hears of it. What is already on its way may still fail: that is a debt, no deeper
than the bucket, so that a peer that stops failing is heard again after two minutes at most.

Two decisions keep honest workers out of it:

- A credential that was accepted and not refused since passes while budgets are empty. So a broken worker
  takes nothing from its neighbours behind the same address, and a flood from many addresses nothing from a
  fleet that is at work; only who was never heard by this process waits with the crowd: a new worker, or one
  whose secret was rotated. It opens no way to guess: what is remembered is a keyed hash of a whole token,
  one refusal ends it, and it proves nothing, because the database still checks each request.
- A request that is accepted gives its peer one token back. The budget of all is not given back: otherwise one
  worker that succeeds quickly would pay for a flood.

Memory is bounded. A peer has an entry only between a failure and the minute in which its bucket is full
again; the budget of all bounds how many can be in that state, and beyond `PEERS_KEPT` the one that failed
longest ago is forgotten. Peers count by their origin, as connections do. Credentials are remembered only
after the database accepted them.
"""

from __future__ import annotations

import hashlib
import secrets
from collections import OrderedDict
from dataclasses import dataclass
from typing import Final

import trio

from tenure_contracts.error import Refusal
from tenure_contracts.identity import Token
from tenure_http import origin_of

WINDOW_S: Final = 60.0
"""An empty bucket is full after so long."""

PEERS_KEPT: Final = 8_192

CREDENTIALS_KEPT: Final = 32_768
"""Several times the fleet that one process serves."""


class FailureBudget:
    """The budgets of one process. `per_peer` and `in_all` are failures a minute; times are trio's."""

    def __init__(self, *, per_peer: int, in_all: int) -> None:
        self._per_peer = per_peer
        self._all = _Bucket(in_all, in_all, trio.current_time())
        self._peers: OrderedDict[str, _Bucket] = OrderedDict()
        self._accepted: dict[bytes, None] = {}
        self._key = secrets.token_bytes(16)

    @property
    def peers(self) -> int:
        """How many peers have an entry."""
        return len(self._peers)

    def wait_s(self, peer: str) -> float:
        """How long a peer has to wait, in seconds; 0 while it may fail."""
        now = trio.current_time()
        bucket = self._peers.get(origin_of(peer)) if self._peers else None
        return max(self._all.wait_s(now), bucket.wait_s(now) if bucket else 0.0)

    def check(self, peer: str, token: Token | None) -> None:
        """Refuse a peer without budget, unless its credential is one that was accepted.

        Raises Refusal `too_many_failures`, with the time after which one more may fail.
        """
        wait_s = self.wait_s(peer)
        if wait_s and (token is None or self._mark(token) not in self._accepted):
            raise Refusal("too_many_failures", retry_after_s=wait_s)

    def failed(self, peer: str, token: Token | None) -> None:
        """An authentication failed. `token`: what was presented, when it had a token's form."""
        now = trio.current_time()
        if token is not None:
            self._accepted.pop(self._mark(token), None)
        self._all.take(now)
        self._forget_full(now)
        origin = origin_of(peer)
        bucket = self._peers.setdefault(origin, _Bucket(self._per_peer, self._per_peer, now))
        bucket.take(now)
        self._peers.move_to_end(origin)
        if len(self._peers) > PEERS_KEPT:
            self._peers.popitem(last=False)

    def accepted(self, peer: str, token: Token) -> None:
        """The database accepted a credential."""
        self._accepted[self._mark(token)] = None
        if len(self._accepted) > CREDENTIALS_KEPT:
            # The one that came first; if it is in use, its next success brings it back.
            del self._accepted[next(iter(self._accepted))]
        if self._peers and (bucket := self._peers.get(origin_of(peer))):
            bucket.give(trio.current_time())

    def _mark(self, token: Token) -> bytes:
        content = token.id.encode() + token.secret_digest
        return hashlib.blake2b(content, key=self._key, digest_size=16).digest()

    def _forget_full(self, now: float) -> None:
        while self._peers and next(iter(self._peers.values())).is_full(now):
            self._peers.popitem(last=False)


@dataclass(slots=True)
class _Bucket:
    """`level` tokens at the time `at`, of `size` that it holds; below zero is debt."""

    size: int
    level: float
    at: float

    def wait_s(self, now: float) -> float:
        """Until there is a whole token."""
        lacking = 1.0 - self._level(now)
        return max(lacking * WINDOW_S / self.size, 0.0)

    def is_full(self, now: float) -> bool:
        return self._level(now) >= self.size

    def take(self, now: float) -> None:
        self._set(max(self._level(now) - 1.0, float(-self.size)), now)

    def give(self, now: float) -> None:
        self._set(min(self._level(now) + 1.0, self.size), now)

    def _level(self, now: float) -> float:
        return min(self.level + (now - self.at) * self.size / WINDOW_S, self.size)

    def _set(self, level: float, now: float) -> None:
        self.level, self.at = level, now
