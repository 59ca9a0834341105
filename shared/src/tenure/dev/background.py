"""A stack in the background: started, found again by its pid file, stopped."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from tenure.dev.place import Place
from tenure.exit import FAILED, TEMPORARY, Stop

START_S: Final = 150.0
STOP_S: Final = 90.0
POLL_S: Final = 0.05


@contextmanager
def owned(place: Place) -> Iterator[None]:
    """Be the one stack of this folder: the lock on its pid file ends with the process, however it ends."""
    file = place.pid("dev").open("a+", encoding="utf-8")
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Stop(f"a stack runs in {place.root} already: `make down` stops it", FAILED) from None
        file.truncate(0)
        file.write(f"{os.getpid()}\n")
        file.flush()
        yield
        place.pid("dev").unlink()


def start(place: Place, arguments: Sequence[str]) -> None:
    """Start a stack that outlives us, and return when it is ready. Does nothing when one is up."""
    if _owner(place) is not None and place.env.exists():
        return
    with place.log("dev").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "tenure", "dev", "--root", str(place.root.parent), *arguments],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    deadline = time.monotonic() + START_S
    while not place.env.exists():
        if process.poll() is not None:
            raise Stop(place.log("dev").read_text(encoding="utf-8").strip(), process.returncode)
        if time.monotonic() > deadline:
            process.terminate()
            raise Stop(f"the stack was not ready within {START_S:g} s: {place.log('dev')}", TEMPORARY)
        time.sleep(POLL_S)


def stop(place: Place) -> None:
    """Stop the stack of this folder and wait until it is gone. Does nothing when none is up."""
    pid = _owner(place)
    if pid is None:
        return
    os.kill(pid, signal.SIGTERM)
    deadline = time.monotonic() + STOP_S
    while _owner(place) is not None:
        if time.monotonic() > deadline:
            raise Stop(f"the stack (process {pid}) did not stop within {STOP_S:g} s", FAILED)
        time.sleep(POLL_S)


def _owner(place: Place) -> int | None:
    """The process that holds the pid file's lock, if there is one: a stale file means nothing."""
    try:
        with place.pid("dev").open(encoding="utf-8") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                text = file.read().strip()
                return int(text) if text else None
    except FileNotFoundError:
        pass
    return None
