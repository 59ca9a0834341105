"""A holder's own calls beside each other: whatever their order, none fences another."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from itertools import permutations
from typing import Any, Final

import trio

from tests.harness import ScratchDatabase
from tests.harness.fake_worker import FakeWorker, Refused, Work
from tests.harness.seed import Seed
from tests.protocol.call import bring
from tests.protocol.facts import check_events
from tests.protocol.site import GATED, open_site, wait_until_sent

Act = Callable[[FakeWorker, Work], Awaitable[Any]]


async def renew(worker: FakeWorker, work: Work) -> str:
    (lease,) = (await worker.renew(work))["leases"]
    return f"{lease['status']} {lease['disposition']}"


async def running(worker: FakeWorker, work: Work) -> str:
    return str((await worker.running(work))["status"])


async def complete(worker: FakeWorker, work: Work) -> str:
    return str((await worker.complete(work))["status"])


async def attest(worker: FakeWorker, work: Work) -> str:
    answer = await worker.attest(work)
    return f"{answer['status']} {answer['disposition']}"


# fmt: off
#           what it is told before the completion, and after it
ACTS: Final[dict[Act, tuple[str, str]]] = {
    renew:    ("renewed None",  "terminal settled"),
    running:  ("applied",       "attempt_settled"),
    attest:   ("recorded None", "recorded stop"),
    complete: ("applied",       "applied"),
}
# fmt: on


async def told(act: Act, worker: FakeWorker, work: Work) -> str:
    """What the call is answered; it presents the fence that was valid before any of the others."""
    try:
        return str(await act(worker, work.with_()))
    except Refused as refusal:
        return refusal.code


async def test_one_after_the_other_in_every_order(
    worker: FakeWorker, seed: Seed, database: ScratchDatabase
) -> None:
    for order in permutations(ACTS):
        work = await bring(seed, worker, "report", "starting")
        ended = order.index(complete)
        for at, act in enumerate(order):
            assert await told(act, worker, work) == ACTS[act][at > ended], [each.__name__ for each in order]
    assert database.value("SELECT count(*) FROM tenure.runs WHERE status = 'succeeded'") == 24
    check_events(database)


async def test_at_once_over_two_replicas(database: ScratchDatabase, seed: Seed) -> None:
    verdicts: list[tuple[Act, str]] = []

    async def tell(act: Act, worker: FakeWorker, work: Work) -> None:
        verdicts.append((act, await told(act, worker, work)))

    async with open_site(database) as site:
        worker, elsewhere = FakeWorker(site.one, seed.credential("w1")), FakeWorker(site.two, "")
        await worker.register()
        elsewhere.token, elsewhere.session = worker.token, worker.session
        for order in list(permutations(ACTS))[::4]:
            work = await bring(seed, worker, "report", "starting")
            async with database.session() as gate, trio.open_nursery() as nursery:
                await gate.execute(f"BEGIN; LOCK TABLE {GATED} IN EXCLUSIVE MODE")
                since = await gate.value("SELECT clock_timestamp()")
                for act, via in zip(order, (worker, elsewhere) * 2, strict=True):
                    nursery.start_soon(tell, act, via, work)
                await wait_until_sent(database, [act.__name__ for act in order], since, 1)
                await gate.execute("COMMIT")
    assert len(verdicts) == 6 * len(ACTS)
    for act, verdict in verdicts:
        assert verdict in ACTS[act], act.__name__
    assert database.value("SELECT count(*) FROM tenure.runs WHERE status = 'succeeded'") == 6
    check_events(database)
