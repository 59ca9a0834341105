"""A look at the peer while its request waits: whether it is still there."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import suppress
from typing import Final

import trio

from tenure_http.transport import BROKEN, RECEIVE_BYTES, Transport

_log = logging.getLogger("tenure_http")

_SURPLUS_BYTES: Final = 256 * 1024

_END_S: Final = 1.0


class PeerWatch:
    """Reads, for its block, from a peer that owes us nothing; calls `left` when nothing more will come.

    What arrives meanwhile is counted in `surplus_bytes` and dropped: to know that a peer is gone one has to
    read up to its end. A peer that sends more than a bound is taken for gone.
    """

    __slots__ = ("_ended", "_left", "_scope", "_transport", "is_gone", "surplus_bytes")

    def __init__(self, transport: Transport, left: Callable[[], None]) -> None:
        self.is_gone = False
        self.surplus_bytes = 0
        self._transport = transport
        self._left = left
        self._scope = trio.CancelScope()
        self._ended = trio.Event()

    async def __aenter__(self) -> None:
        # Beside the task, not below it: a nursery around the block would wrap what the block raises.
        nursery = trio.lowlevel.current_task().parent_nursery
        assert nursery is not None
        nursery.start_soon(self._run)

    async def __aexit__(self, *_: object) -> None:
        self._scope.cancel()
        # Nobody else may read once the block is over. A cancelled read ends at once; the bound is for form.
        with trio.move_on_after(_END_S, shield=True):
            await self._ended.wait()

    async def _run(self) -> None:
        try:
            with self._scope:
                await self._read_to_the_end()
                self.is_gone = True
        except Exception:  # noqa: BLE001 - a bug here must not reach the nursery of all connections
            _log.exception("the watch over a waiting peer failed")
        finally:
            self._ended.set()
        if self.is_gone:
            self._left()

    async def _read_to_the_end(self) -> None:
        with suppress(*BROKEN):  # a reset is an end like any other
            while self.surplus_bytes <= _SURPLUS_BYTES:
                data = await self._transport.receive(RECEIVE_BYTES)
                if not data:
                    break
                self.surplus_bytes += len(data)
