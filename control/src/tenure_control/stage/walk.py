"""Pages of candidates, walked in order, with the rules under which a page is believed at all."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from tenure_control.stage.outcome import (
    RACED,
    CandidateFault,
    PageError,
    StageError,
    StageSummary,
    Tally,
)
from tenure_postgres.error import Busy, Conflict, DataFault

C = TypeVar("C")

Look = Callable[[Any, int], Awaitable[Sequence[C]]]
"""Reads up to so many candidates after a key (None: from the beginning)."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """How much one run of a stage may look at."""

    page: int
    pages: int = 1


@asynccontextmanager
async def tallied(stage: str) -> AsyncIterator[Tally]:
    """Count what a stage does. Whatever it raises becomes a StageError that still tells the counts."""
    tally = Tally(stage)
    try:
        yield tally
    except Exception as error:
        raise StageError(tally.summary(), str(error) or type(error).__name__) from error
    if tally.faults:
        raise StageError(tally.summary(), str(tally.faults[0])) from tally.faults[0]


async def walk(
    stage: str,
    bounds: Bounds,
    look: Look[C],
    handle: Callable[[C], Awaitable[str]],
    *,
    key: Callable[[C], Any] | None = None,
) -> StageSummary:
    """Handle the candidates of up to `bounds.pages` pages, one by one.

    One more than a page is asked for, which tells whether there is more. `key` is the continuation, which
    must strictly advance; without one there is one page only. `handle` returns the effect to count.

    Raises StageError: at once for a page that cannot be believed or an error of the database, after the
    whole walk for faults of single candidates.
    """
    async with tallied(stage) as tally:
        after: Any = None
        for _ in range(bounds.pages):
            found = await look(after, bounds.page + 1)
            _believe(found, bounds.page + 1, after, key)
            tally.pages += 1
            tally.truncated = len(found) > bounds.page
            for candidate in found[: bounds.page]:
                tally.scanned += 1
                await one(tally, handle, candidate)
            if key is None or not tally.truncated:
                break
            after = key(found[bounds.page - 1])
    return tally.summary()


async def one(tally: Tally, handle: Callable[[C], Awaitable[str]], candidate: C) -> None:
    """Handle one candidate; what is its own fault, or somebody else's gain, concerns nobody after it."""
    try:
        tally.count(await handle(candidate))
    except Busy as busy:
        if not busy.raced:
            raise
        tally.count(RACED)
    except (Conflict, DataFault) as refused:
        # A guard of the database refuses the same row again and again: that is a fault of the row.
        tally.faults.append(CandidateFault(str(candidate), "refused_by_database", str(refused)))
    except CandidateFault as fault:
        tally.faults.append(fault)


def _believe(found: Sequence[C], limit: int, after: Any, key: Callable[[C], Any] | None) -> None:
    if len(found) > limit:
        raise PageError(f"a page of {len(found)} was read where {limit} were asked for")
    if key is None:
        return
    for candidate in found:
        if after is not None and not key(candidate) > after:
            raise PageError(f"the page does not advance: {key(candidate)} after {after}")
        after = key(candidate)
