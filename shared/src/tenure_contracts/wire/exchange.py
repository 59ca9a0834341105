"""Exchange: one request with any mix of calls of one session, each answered on its own.

Items stay raw in the message, so that a malformed one is refused alone: `read_items` reads them.
"""

from __future__ import annotations

from typing import Annotated, Final, Union
from uuid import UUID

import msgspec
from msgspec import UNSET, Meta, UnsetType

from tenure_contracts import bounds
from tenure_contracts.error import Refusal
from tenure_contracts.wire.codec import Answer, Report, Request, decode_union
from tenure_contracts.wire.completion import Complete, CompleteBody
from tenure_contracts.wire.field import Generation
from tenure_contracts.wire.lease import (
    Renew,
    RenewBody,
    Running,
    RunningBody,
    StartFailure,
    StartFailureBody,
    Starting,
    StartingBody,
)
from tenure_contracts.wire.offer import Pull, PullBody
from tenure_contracts.wire.problem import Problem
from tenure_contracts.wire.supply import Logs, LogsBody


class Exchange(Report, frozen=True, kw_only=True):
    """Make many calls at once; of those about one attempt each sees what the one before it did.

    An item is the body of its call, without `generation` and with `call`. A malformed one is refused alone.
    """

    request_id: UUID | None = None
    generation: Generation
    items: Annotated[tuple[msgspec.Raw, ...], Meta(min_length=1, max_length=bounds.ITEMS_PER_EXCHANGE)]


class ExchangedItem(Answer, frozen=True, kw_only=True):
    """`body` of a success, or `problem` of a refusal."""

    status: int
    body: msgspec.Raw | UnsetType = UNSET
    problem: Problem | UnsetType = UNSET


class Exchanged(Answer, frozen=True, kw_only=True):
    """Answer of exchange, in the order of the request."""

    items: tuple[ExchangedItem, ...]


class RenewItem(RenewBody, frozen=True, kw_only=True, tag_field="call", tag="renew"):
    """A renewal."""


class StartingItem(StartingBody, frozen=True, kw_only=True, tag_field="call", tag="starting"):
    """A start."""


class RunningItem(RunningBody, frozen=True, kw_only=True, tag_field="call", tag="running"):
    """A running acknowledgement."""


class StartFailureItem(StartFailureBody, frozen=True, kw_only=True, tag_field="call", tag="start-failure"):
    """A start failure."""


class CompleteItem(CompleteBody, frozen=True, kw_only=True, tag_field="call", tag="complete"):
    """A completion."""


class LogsItem(LogsBody, frozen=True, kw_only=True, tag_field="call", tag="logs"):
    """A log chunk."""


class PullItem(PullBody, frozen=True, kw_only=True, tag_field="call", tag="offers"):
    """A pull, which does not wait here."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.wait_s:
            raise ValueError("`wait_s` must be 0 inside an exchange")


Item = Union[RenewItem, StartingItem, RunningItem, StartFailureItem, CompleteItem, LogsItem, PullItem]  # noqa: UP007
Call = Renew | Starting | Running | StartFailure | Complete | Logs | Pull

_CALLS: Final[dict[type[Request], type[Call]]] = {
    RenewItem: Renew,
    StartingItem: Starting,
    RunningItem: Running,
    StartFailureItem: StartFailure,
    CompleteItem: Complete,
    LogsItem: Logs,
    PullItem: Pull,
}


def read_items(exchange: Exchange) -> list[Call | Refusal]:
    """The calls of an exchange, each with the session's generation, or the refusal of that item alone.

    Raises Refusal for the whole when all renewals together name more than 256 leases.
    """
    calls = [_read_item(raw, index, exchange.generation) for index, raw in enumerate(exchange.items)]
    leases = sum(len(call.leases) for call in calls if isinstance(call, Renew))
    if leases > bounds.LEASES_PER_RENEWAL:
        raise Refusal("invalid_field", f"{leases} leases in one exchange, at most 256 - at `$.items`")
    return calls


def _read_item(raw: msgspec.Raw, index: int, generation: int) -> Call | Refusal:
    try:
        item: Item = decode_union(bytes(raw), Item)
    except Refusal as refusal:
        return Refusal(refusal.code, refusal.detail.replace("`$", f"`$.items[{index}]"))
    fields = {name: getattr(item, name) for name in item.__struct_fields__}
    return _CALLS[type(item)](generation=generation, **fields)
