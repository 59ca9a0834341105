"""The folder of records.

    owner.json                 format, worker, machine
    lock                       held by the one process that may write
    offers/<offer>.json        one record
    attempts/<offer>/          receipt, stdout, stderr of its launcher
    damaged/<offer>.json.N     records nobody could read, set aside for a person

All calls block on the disk: from async code they run in a thread. Records are independent of each other, so
calls for different offers may run at the same time.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from uuid import UUID

import structlog

from tenure_worker.journal import owner
from tenure_worker.journal.file import TEMPORARY_SUFFIX, sync_folder, write_durably
from tenure_worker.journal.record import Record, decode, encode

log = structlog.get_logger("tenure.worker")


class Journal:
    """An open journal. `same_machine`: its last writer ran here, so holding the lock proves it is gone."""

    def __init__(self, folder: Path, *, machine: str | None, same_machine: bool) -> None:
        self.machine = machine
        self.same_machine = same_machine
        self._offers = folder / "offers"
        self._attempts = folder / "attempts"
        self._damaged = folder / "damaged"
        for part in (self._offers, self._attempts, self._damaged):
            part.mkdir(mode=0o700, exist_ok=True)
        self.records: Mapping[UUID, Record] = self._load()

    def write(self, record: Record) -> Record:
        """Store a record; it is on the disk when this returns. OSError: the older one still is."""
        write_durably(self._path(record.offer), encode(record))
        return record

    def remove(self, offer: UUID) -> None:
        """Forget an offer and what its launcher left behind."""
        shutil.rmtree(self.attempt_folder(offer), ignore_errors=True)
        self._path(offer).unlink(missing_ok=True)
        sync_folder(self._offers)

    def set_aside(self, offer: UUID, reason: str) -> None:
        """Keep a record for a person and never act on it again."""
        self._set_aside(self._path(offer), reason)
        sync_folder(self._offers)

    def attempt_folder(self, offer: UUID) -> Path:
        """Where launcher, receipt and output of an offer live; made by the launcher."""
        return self._attempts / str(offer)

    def _path(self, offer: UUID) -> Path:
        return self._offers / f"{offer}.json"

    def _load(self) -> dict[UUID, Record]:
        """Read every record there is at opening; one that is damaged costs itself alone."""
        for leftover in self._offers.glob(f"*{TEMPORARY_SUFFIX}"):
            leftover.unlink()
        records = map(self._read, sorted(self._offers.glob("*.json")))
        return {record.offer: record for record in records if record is not None}

    def _read(self, path: Path) -> Record | None:
        try:
            return decode(path.read_bytes(), offer=path.stem)
        except (OSError, ValueError) as error:
            self._set_aside(path, str(error))
            return None

    def _set_aside(self, path: Path, reason: str) -> None:
        target = next(name for n in count(1) if not (name := self._damaged / f"{path.name}.{n}").exists())
        path.replace(target)
        log.error("journal_record_set_aside", file=path.name, moved_to=str(target), reason=reason)


@contextmanager
def open_journal(folder: Path, *, worker: str, machine: str | None) -> Iterator[Journal]:
    """Open or create the journal of a worker, alone, until the block ends. Blocking.

    Raises ConfigurationError when the folder cannot serve (mode, read-only, another worker's, newer format),
    TemporaryError when another process has it.
    """
    owner.prepare_folder(folder)
    descriptor = owner.lock(folder)
    try:
        before = owner.read_owner(folder, worker)
        owner.write_owner(folder, worker, machine)
        same_machine = before is not None and machine is not None and before.machine == machine
        yield Journal(folder, machine=machine, same_machine=same_machine)
    finally:
        os.close(descriptor)
