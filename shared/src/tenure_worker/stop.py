"""Ending a command: everything in its session, within its grace, and never a claim before it is true."""

from __future__ import annotations

import signal

import anyio

from tenure_worker.machine import session_members, signal_session

LOOK_S = 0.02
KILL_AGAIN_S = 1.0


async def stop_session(session: int, grace_s: float) -> None:
    """Ask with TERM, wait so many seconds, then KILL, and return once no process of the session is left.

    What cannot be killed (waiting for a dead disk) keeps this waiting: the attempt is running as long as that
    is so. Cancelling leaves the processes as they are.
    """
    signal_session(session, signal.SIGTERM)
    signal_session(session, signal.SIGCONT)  # a stopped process reads its TERM only once it goes on
    with anyio.move_on_after(grace_s):
        await wait_empty(session)
        return
    while session_members(session):
        signal_session(session, signal.SIGKILL)
        with anyio.move_on_after(KILL_AGAIN_S):
            await wait_empty(session)


async def wait_empty(session: int) -> None:
    """Wait until a session has no process left. The kernel tells nobody, so this looks again and again."""
    pause_s = LOOK_S
    while session_members(session):
        await anyio.sleep(pause_s)
        pause_s = min(pause_s * 1.5, 0.5)
