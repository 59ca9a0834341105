"""One process that serves for a parent: started, asked, given orders, and seen to its end."""

from __future__ import annotations

import signal
import socket
import subprocess
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager, closing, suppress

import structlog
import trio

from tenure_process.exit import ExitCode
from tenure_process.family.ask import ANSWER_S, Answer, ask
from tenure_process.family.handed import Handed
from tenure_process.family.reservation import Reservation

log = structlog.get_logger("tenure.process")


class Child:
    """The process number `index`, one incarnation of it after the other.

    Attributes:
        heard: whether this incarnation has answered; until then its silence means that it is starting.
        starts: incarnations so far.
        returned: what the last one ended with; negative: the signal that ended it.
    """

    def __init__(
        self, index: int, command: Sequence[str], environ: Mapping[str, str], reservation: Reservation
    ) -> None:
        self.index = index
        self.heard = False
        self.starts = 0
        self.returned = 0
        self._command = command
        self._environ = environ
        self._reservation = reservation
        self._process: trio.Process | None = None
        self._port = 0

    @property
    def running(self) -> bool:
        """Whether there is a process now."""
        return self._process is not None

    @property
    def code(self) -> ExitCode:
        """How the last one ended, in our words: a signal, or what is none of them, is a failure."""
        try:
            return ExitCode(self.returned)
        except ValueError:
            return ExitCode.FAILED

    @asynccontextmanager
    async def incarnation(self) -> AsyncIterator[None]:
        """Have a process for the block; it is killed when it outlives it. Raises OSError when none starts."""
        self.starts += 1
        self.heard = False
        self._process = process = await self._start()
        try:
            log.info("process_started", process=self.index, pid=process.pid)
            yield
        finally:
            self._process = None
            with trio.CancelScope(shield=True):
                await _end(process)

    async def wait(self) -> ExitCode:
        """Wait for the end of the process; how it ended."""
        assert self._process is not None
        self.returned = await self._process.wait()
        return self.code

    async def tell_stop(self) -> None:
        """Tell the process to stop; a second time cuts it."""
        assert self._process is not None
        assert self._process.stdin is not None
        with suppress(trio.BrokenResourceError):  # it ended already
            await self._process.stdin.send_all(bytes([signal.SIGTERM]))

    def kill(self) -> None:
        """Kill the process."""
        assert self._process is not None
        self._process.kill()

    async def ask(self, path: str, *, method: str = "GET", timeout_s: float = ANSWER_S) -> Answer | None:
        """What it answers; None when it is not there or takes too long."""
        if not self.running:
            return None
        answer = await ask(self._port, path, method=method, timeout_s=timeout_s)
        self.heard = self.heard or answer is not None
        return answer

    async def _start(self) -> trio.Process:
        with ExitStack() as stack:
            # Ours are closed once it has its own: what nobody listens on must not take connections.
            listen = [stack.enter_context(closing(each)) for each in self._reservation.members()]
            probe = stack.enter_context(closing(socket.create_server(("127.0.0.1", 0))))
            self._port = probe.getsockname()[1]
            handed = Handed(self.index, tuple(each.fileno() for each in listen), probe.fileno())
            return await trio.lowlevel.open_process(
                [*self._command, *handed.arguments],
                env=dict(self._environ),
                stdin=subprocess.PIPE,
                pass_fds=handed.descriptors,
                # Ctrl-C in a terminal reaches the parent alone, which gives the orders.
                start_new_session=True,
            )


async def _end(process: trio.Process) -> None:
    if process.returncode is None:
        process.kill()
        await process.wait()
    assert process.stdin is not None
    await process.stdin.aclose()
