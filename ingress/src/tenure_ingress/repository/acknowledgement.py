"""Acknowledgements and completions for a lane: many attempts in one statement, a verdict for each of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from tenure_contracts.wire.lease import Fence
from tenure_ingress.repository.call import QUERIES
from tenure_ingress.repository.caller import Caller, fence_columns
from tenure_postgres.database import Connection
from tenure_postgres.lane import Locked

Name: TypeAlias = Literal["starting", "running", "start_failure", "complete"]


@dataclass(frozen=True, slots=True)
class Acknowledgement:
    """One attempt's report. `content` recognises a repetition, `facts` are the further parameters."""

    caller: Caller
    fence: Fence
    content: bytes
    facts: tuple[object, ...] = ()

    @property
    def columns(self) -> tuple[object, ...]:
        """The parameters of this item, one element of each array."""
        return (*self.caller.columns, *fence_columns(self.fence), self.content, *self.facts)


async def acknowledge(
    name: Name, connection: Connection, items: Sequence[Acknowledgement]
) -> Sequence[Any | Locked[Acknowledgement]]:
    """Send one call of this name. An item whose rows are locked elsewhere is to be tried again."""
    columns = zip(*(item.columns for item in items), strict=True)
    rows = await connection.fetch(QUERIES[name], *map(list, columns))
    return [Locked(item) if row["locked"] else row for item, row in zip(items, rows, strict=True)]
