"""A stack in the background: started, found again by its pid file, stopped."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import IO, Final

from tenure.dev.place import Place
from tenure.exit import Stop
from tenure_process.exit import ExitCode

START_S: Final = 150.0
STOP_S: Final = 90.0
POLL_S: Final = 0.05
LOCK_TRIES: Final = 6


@contextmanager
def owned(place: Place) -> Iterator[None]:
    """Be the one stack of this folder: the lock on its pid file ends with the process, however it ends."""
    file = place.pid("dev").open("a+", encoding="utf-8")
    with file:
        if not _locked(file):
            raise Stop(f"a stack runs in {place.root} already: `make down` stops it", ExitCode.FAILED)
        # Of a stack that was killed, and must not be taken for ours: it goes before our process id is known.
        place.env.unlink(missing_ok=True)
        file.truncate(0)
        file.write(f"{os.getpid()}\n")
        file.flush()
        yield
        # Emptied, not removed: somebody who opened it already would lock a file that is nobody's.
        file.truncate(0)


def _locked(file: IO[str]) -> bool:
    # More than one try: who looks for an owner holds the lock for a moment too.
    for _ in range(LOCK_TRIES):
        with suppress(BlockingIOError):
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        time.sleep(POLL_S)
    return False


def start(place: Place, arguments: Sequence[str]) -> None:
    """Start a stack that outlives us, and return when it is ready.

    Does nothing when one is up; waits for one that somebody else is starting. Raises Stop with the sentence
    and the exit code of a stack that does not come up.
    """
    if _is_up(place):
        return
    with place.log("dev").open("ab") as log:
        begin = log.tell()
        process = subprocess.Popen(
            [sys.executable, "-m", "tenure", "dev", "--root", str(place.root.parent), *arguments],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    deadline = time.monotonic() + START_S
    while not _is_up(place):
        if process.poll() is not None and _owner(place) is None:
            raise Stop(_last_words(place, begin), process.returncode or ExitCode.FAILED)
        if time.monotonic() > deadline:
            process.terminate()
            raise Stop(
                f"the stack was not ready within {START_S:g} s: {place.log('dev')}", ExitCode.TEMPORARY
            )
        time.sleep(POLL_S)


def _is_up(place: Place) -> bool:
    # In this order: who owns the place has removed what an earlier owner left in it.
    return _owner(place) is not None and place.env.exists()


def _last_words(place: Place, begin: int) -> str:
    """What a stack that ended said, without the name of the command that we put before it ourselves."""
    with place.log("dev").open("rb") as log:
        log.seek(begin)
        text = log.read().decode(errors="replace").strip()
    return text.removeprefix("tenure: ") or f"the stack ended without a word: {place.log('dev')}"


def stop(place: Place) -> bool:
    """Stop the stack of this folder and wait until it is gone; False when none was up."""
    pid = _owner(place)
    if pid is None:
        return False
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGTERM)
    deadline = time.monotonic() + STOP_S
    while _owner(place) is not None:
        if time.monotonic() > deadline:
            raise Stop(f"the stack (process {pid}) did not stop within {STOP_S:g} s", ExitCode.FAILED)
        time.sleep(POLL_S)
    return True


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
