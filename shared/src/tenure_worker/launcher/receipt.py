"""The receipt of one attempt: started, failed to start, ended; and whether its launcher is still there."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

from msgspec import Struct

SIZE = 256
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Started(Struct, frozen=True, kw_only=True):
    """The command's first process: leader of the session that a stop ends."""

    session: int
    start_ticks: int
    at: datetime


class Receipt(Struct, frozen=True, kw_only=True):
    """What launcher and starter wrote. `failure` proves that the command itself was never executed."""

    started: Started | None = None
    failure: tuple[str, int] | None = None
    exit_code: int | None = None
    ended_at: datetime | None = None


def create(path: Path) -> int:
    """Create the receipt with its room already on the disk, lock it, and return the descriptor.

    A receipt that exists means that a launcher was created before: FileExistsError, and nothing is started.
    The room is taken now so that a full disk cannot swallow the exit code later.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.write(descriptor, b" " * SIZE)
        os.fsync(descriptor)
        os.lseek(descriptor, 0, os.SEEK_SET)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def read(path: Path) -> Receipt | None:
    """Read a receipt, or None when no launcher was ever created for it."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return None
    try:
        return parse(os.read(descriptor, SIZE), os.fstat(descriptor).st_mtime_ns)
    finally:
        os.close(descriptor)


def parse(content: bytes, modified_ns: int) -> Receipt:
    """Parse the lines of a receipt; its last change is the end, once an end is written.

    Raises ValueError for lines that neither launcher nor starter wrote.
    """
    lines = {words[0]: words[1:] for line in content.splitlines() if (words := line.decode().split())}
    try:
        return _receipt(lines, moment(modified_ns))
    except IndexError as error:
        raise ValueError("a line of the receipt is too short") from error


def _receipt(lines: Mapping[str, list[str]], modified_at: datetime) -> Receipt:
    started = _started(lines["started"]) if "started" in lines else None
    # The end is stamped by the file system, whose clock ticks coarsely and may lie behind the start's.
    ended_at = max(modified_at, started.at) if started else modified_at
    return Receipt(
        started=started,
        failure=(lines["failed"][0], int(lines["failed"][1])) if "failed" in lines else None,
        exit_code=int(lines["exit"][0]) if "exit" in lines else None,
        ended_at=ended_at if "exit" in lines else None,
    )


def is_held(path: Path) -> bool:
    """Whether a launcher still holds the lock of this receipt."""
    with path.open("rb") as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def moment(nanoseconds: int) -> datetime:
    """A wall-clock reading in nanoseconds as a time, cut to microseconds."""
    return _EPOCH + timedelta(microseconds=nanoseconds // 1000)


def _started(words: list[str]) -> Started:
    return Started(session=int(words[0]), start_ticks=int(words[1]), at=moment(int(words[2])))
