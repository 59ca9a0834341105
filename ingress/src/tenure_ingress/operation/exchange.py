"""Exchange: many calls of one session in one request, each answered on its own.

Calls about one attempt run in the order in which they were given, pulls last and one after the other, and
everything else side by side: so the renewals of a worker and its reports travel in the lanes together.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import Any, Final
from uuid import UUID

import msgspec
import structlog
import trio

from tenure_contracts.error import Refusal
from tenure_contracts.wire.codec import encode, request_id_of
from tenure_contracts.wire.completion import Complete
from tenure_contracts.wire.exchange import Call, Exchange, Exchanged, ExchangedItem, read_items
from tenure_contracts.wire.lease import Renew, Running, StartFailure, Starting
from tenure_contracts.wire.offer import Pull
from tenure_contracts.wire.problem import problem
from tenure_ingress.credential import proves_caller
from tenure_ingress.operation import activation, completion, offer, renewal
from tenure_ingress.operation.service import Service
from tenure_ingress.repository.call import authenticate
from tenure_ingress.repository.caller import Caller
from tenure_process.shield import refusals

log = structlog.get_logger("tenure.ingress")

OPERATIONS: Final[dict[type[Any], Callable[[Service, Caller, Any], Awaitable[object]]]] = {
    Renew: renewal.renew,
    Starting: activation.starting,
    Running: activation.running,
    StartFailure: activation.start_failure,
    Complete: completion.complete,
    Pull: offer.pull,
}


async def exchange(service: Service, caller: Caller, message: Exchange) -> Exchanged:
    """Answer every item, in the order of the request.

    Refusal `invalid_field` when there are too many leases, and `credential_refused` when the caller is,
    also when none of its items got so far that it mattered: those concern all items. Cancelled, the calls
    that are on their way in a lane go on.
    """
    calls = read_items(message)
    verdicts: list[object] = list(calls)

    async def answer(at: int) -> None:
        verdicts[at] = await _answer(service, caller, calls[at])

    await _in_order(calls, answer)
    for verdict in verdicts:
        if isinstance(verdict, Refusal) and verdict.code == "credential_refused":
            raise verdict
    if not any(map(proves_caller, verdicts)):
        await service.row(authenticate(caller.token))
    return Exchanged(
        items=tuple(_item(raw, verdict) for raw, verdict in zip(message.items, verdicts, strict=True))
    )


async def _in_order(calls: Sequence[Call | Refusal], answer: Callable[[int], Awaitable[None]]) -> None:
    """Run `answer` for each position, as the order of calls allows."""
    last: dict[UUID, trio.Event] = {}
    pulls = [at for at, call in enumerate(calls) if isinstance(call, Pull)]
    async with trio.open_nursery() as nursery:
        for at, call in enumerate(calls):
            if at not in pulls:
                attempts, done = _attempts(call), trio.Event()
                before = [last[attempt] for attempt in attempts if attempt in last]
                last.update(dict.fromkeys(attempts, done))
                nursery.start_soon(_after, before, answer, at, done)
    for at in pulls:
        await answer(at)


async def _after(
    before: Collection[trio.Event], answer: Callable[[int], Awaitable[None]], at: int, done: trio.Event
) -> None:
    for event in before:
        await event.wait()
    await answer(at)
    done.set()


def _attempts(call: Call | Refusal) -> list[UUID]:
    """The attempts that a call is about. One that could not be read is about none."""
    match call:
        case Renew(leases=leases):
            return [fence.attempt for fence in leases]
        case Refusal() | Pull():
            return []
    return [call.lease.attempt]


async def _answer(service: Service, caller: Caller, call: Call | Refusal) -> object:
    """What the call answers, or the Refusal that it is answered with."""
    if isinstance(call, Refusal):
        return call
    operation = OPERATIONS.get(type(call))
    if operation is None:
        return Refusal("not_available", "Log chunks are not offered by this version.")
    try:
        with refusals():
            return await operation(service, caller, call)
    except Refusal as refusal:
        return refusal
    except Exception:  # a bug that one item brings out is that item's alone
        log.exception("item_failed", call=type(call).__name__, request_id=str(call.request_id))
        return Refusal("internal_error")


def _item(raw: msgspec.Raw, verdict: object) -> ExchangedItem:
    if isinstance(verdict, Refusal):
        return ExchangedItem(status=verdict.status, problem=problem(verdict, request_id_of(bytes(raw))))
    return ExchangedItem(status=200, body=msgspec.Raw(encode(verdict)))
