"""The line of a lane, in virtual time."""

from __future__ import annotations

from collections.abc import Hashable

import trio

from tenure_postgres.waiting import Ticket, WaitingLine

PAUSE_S = 7.0


def _ticket(*keys: Hashable, content: object = None) -> Ticket[None, None]:
    return Ticket(None, keys, content, weight=1)


async def _waited_s(line: WaitingLine[None, None]) -> float:
    began = trio.current_time()
    await line.wait(PAUSE_S)
    return trio.current_time() - began


async def test_new_items_do_not_wait_and_locked_ones_rest(autojump_clock: trio.testing.MockClock) -> None:
    line: WaitingLine[None, None] = WaitingLine()
    new, locked = _ticket(1), _ticket(2)
    line.join(new)
    line.rejoin(locked)
    assert await _waited_s(line) == 0
    line.leave(new)
    assert await _waited_s(line) == PAUSE_S


async def test_an_item_whose_newer_twin_left_is_still_new(autojump_clock: trio.testing.MockClock) -> None:
    line: WaitingLine[None, None] = WaitingLine()
    older, newer = _ticket(1, content="a"), _ticket(1, content="b")
    line.join(older)
    line.join(newer)
    line.leave(newer)
    assert await _waited_s(line) == 0


async def test_the_newest_of_the_same_keys_is_found_by_an_equal_content() -> None:
    line: WaitingLine[None, None] = WaitingLine()
    older, newer = _ticket(1, 2, content=["a"]), _ticket(1, 2, content=["b"])
    line.join(older)
    line.join(newer)
    assert line.find((1, 2), ["b"]) is newer
    assert line.find((1, 2), ["a"]) is None
    assert line.find((1,), ["b"]) is None
    line.take(room=9)
    assert line.find((1, 2), ["b"]) is newer  # it waits for the older one of its keys
    line.take(room=9)
    assert line.find((1, 2), ["b"]) is None
