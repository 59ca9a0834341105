"""The replay rule: whatever comes twice, in whatever way, has one effect and answers the same facts."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
import trio

from tests.harness import ScratchDatabase
from tests.harness.seed import Seed
from tests.protocol.call import Call, Case, arrange
from tests.protocol.facts import check_events, counted, nothing_changes
from tests.protocol.repetition import WAYS, Way, facts, verdicts
from tests.protocol.site import GATED, Site, open_site, wait_until_sent
from tests.protocol.table import CALLS

MOVED = frozenset({"lease_version", "expires_at"})
"""What an answer says of the lease and the session as they are now."""

GATES = {
    "both before they have locked a row": "EXCLUSIVE",
    "one while the other holds its rows": "SHARE",
}


@pytest.mark.parametrize("way", WAYS)
async def test_one_after_the_other(database: ScratchDatabase, seed: Seed, way: str) -> None:
    asked = WAYS[way]
    async with open_site(database) as site:
        cases = [await arrange(seed, site.one, call) for call in CALLS]
        answers = [await first(database, site, asked, case) for case in cases]
        if not asked.restart:
            await again(database, site, asked, cases, answers)
    if asked.restart:
        async with open_site(database) as site:
            await again(database, site, asked, cases, answers)
    check_events(database)


async def first(database: ScratchDatabase, site: Site, way: Way, case: Case) -> Any:
    """Send the call for the first time: it has its effect."""
    before = counted(database)
    answer = await way.first(database, site, case)
    assert counted(database) - before == case.call.adds, case.call.name
    assert answer is None or verdicts(answer) == case.call.answers
    return answer


async def again(
    database: ScratchDatabase, site: Site, way: Way, cases: list[Case], answers: list[Any]
) -> None:
    """Send every call again: none has an effect, and each answers as before."""
    for case, answer in zip(cases, answers, strict=True):
        if way.between is not None:
            await way.between(database, site, case)
        for sending in way.again:
            with nothing_changes(database, but=case.call.moves):
                repeated = await sending(database, site, case)
            check_repeated(way, case.call, answer, repeated)


def check_repeated(way: Way, call: Call, answer: Any, repeated: Any) -> None:
    """The later answer says `replayed`, and the same facts as the first one, if that arrived."""
    assert verdicts(repeated) == ("replayed",) * len(call.answers), call.name
    without = MOVED if call.moves or way.between else frozenset[str]()
    if answer is not None:
        assert facts(repeated, without=without) == facts(answer, without=without), call.name


@pytest.mark.parametrize("gate", GATES)
async def test_at_once_on_two_replicas(database: ScratchDatabase, seed: Seed, gate: str) -> None:
    async with open_site(database) as site:
        for call in CALLS:
            case = await arrange(seed, site.one, call)
            before = counted(database)
            answers = await both(database, site, case, GATES[gate])
            added = counted(database) - before
            for moved in ("lease version",) if call.moves & {"run_leases.version"} else ():
                added[moved] -= 1
            assert added == call.adds, call.name
            check_answers(call, answers)
    check_events(database)


async def both(database: ScratchDatabase, site: Site, case: Case, mode: str) -> list[Any]:
    """Send the call to both replicas at once: neither goes on before both have come to the database."""
    answers: list[Any] = []

    async def send(http: Any) -> None:
        answers.append(await case.send(http))

    async with database.session() as gate, trio.open_nursery() as nursery:
        await gate.execute(f"BEGIN; LOCK TABLE {GATED} IN {mode} MODE")
        since = await gate.value("SELECT clock_timestamp()")
        nursery.start_soon(send, site.one)
        nursery.start_soon(send, site.two)
        await wait_until_sent(database, case.call.functions, since, 2)
        await gate.execute("COMMIT")
    return answers


def check_answers(call: Call, answers: list[Any]) -> None:
    """One of them was first in each effect, and both say the same."""
    told = Counter(verdict for answer in answers for verdict in verdicts(answer))
    assert told == Counter(call.answers) + Counter(replayed=len(call.answers)), call.name
    without = MOVED if call.moves else frozenset[str]()
    one, two = (facts(answer, without=without) for answer in answers)
    assert one == two, call.name
