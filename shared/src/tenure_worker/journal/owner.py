"""Whose journal a folder is: one worker name, one machine, one process at a time."""

from __future__ import annotations

import errno
import fcntl
import os
from pathlib import Path

import msgspec
from msgspec import Struct

from tenure_worker.error import ConfigurationError, TemporaryError
from tenure_worker.journal.file import write_durably
from tenure_worker.journal.record import FORMAT


class Owner(Struct, frozen=True, kw_only=True):
    """The first thing in a journal: the version of its format and who writes it."""

    format: int
    worker: str
    machine: str | None


def prepare_folder(folder: Path) -> None:
    """Create the journal's folder, or check the one that is there. Raises ConfigurationError."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        mode = folder.stat().st_mode & 0o777
    except OSError as error:
        raise ConfigurationError(_cannot_use(folder, error)) from error
    if mode & 0o077:
        raise ConfigurationError(
            f"The journal folder {folder} has mode {mode:04o}; it holds lease tokens: chmod it to 0700."
        )


def lock(folder: Path) -> int:
    """Take the single-owner lock and return its descriptor.

    Raises TemporaryError while another process of this machine has it, ConfigurationError when the folder
    cannot be written.
    """
    try:
        descriptor = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise ConfigurationError(_cannot_use(folder, error)) from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        os.close(descriptor)
        raise TemporaryError(
            f"Another process uses the journal {folder}; one worker, one journal."
        ) from error
    return descriptor


def read_owner(folder: Path, worker: str) -> Owner | None:
    """The owner that a journal names, None for a new journal. Raises ConfigurationError when it is not us."""
    path = folder / "owner.json"
    if not path.exists():
        return None
    try:
        owner = msgspec.json.decode(path.read_bytes(), type=Owner)
    except (msgspec.MsgspecError, UnicodeError) as error:
        raise ConfigurationError(
            f"{path} is damaged ({error}); move the journal away to start anew."
        ) from error
    if owner.format > FORMAT:
        raise ConfigurationError(
            f"The journal {folder} has format {owner.format}, of a newer version; this one knows {FORMAT}."
        )
    if owner.worker != worker:
        raise ConfigurationError(f"The journal {folder} belongs to worker {owner.worker!r}, not {worker!r}.")
    return owner


def write_owner(folder: Path, worker: str, machine: str | None) -> None:
    """Name this machine as the one that writes. Raises ConfigurationError on a read-only folder."""
    owner = Owner(format=FORMAT, worker=worker, machine=machine)
    try:
        write_durably(folder / "owner.json", msgspec.json.encode(owner) + b"\n")
    except OSError as error:
        raise ConfigurationError(_cannot_use(folder, error)) from error


def _cannot_use(folder: Path, error: OSError) -> str:
    reason = (
        "is on a read-only file system" if error.errno == errno.EROFS else f"cannot be used: {error.strerror}"
    )
    return f"The journal folder {folder} {reason}; a worker starts nothing that it cannot journal."
