"""The journal on the disk: order, durability, ownership, damage."""

from __future__ import annotations

import errno
import itertools
import os
from pathlib import Path
from typing import Any, get_args
from uuid import uuid4

import pytest

from tenure_worker.error import ConfigurationError, TemporaryError
from tenure_worker.journal import Journal, Lease, Record, Result, State, open_journal, owner
from tenure_worker.journal.record import TRANSITIONS
from tests.harness.fake_ingress import open_fake_ingress
from tests.worker.running import running_agent

TOKEN = "A" * 43
LEASE = Lease(attempt=uuid4(), lease_generation=1, lease_version=2)


def _record(state: State = "offered") -> Record:
    return Record(state=state, offer=uuid4(), token=TOKEN, lease=LEASE, result=Result(exit_code=3))


@pytest.mark.parametrize(("before", "after"), list(itertools.product(get_args(State), repeat=2)))
def test_every_step_is_in_the_table_or_refused(before: State, after: State) -> None:
    if (before, after) in TRANSITIONS:
        assert _record(before).advance(after).state == after
    else:
        with pytest.raises(ValueError, match="cannot go"):
            _record(before).advance(after)


@pytest.mark.parametrize("state", get_args(State))
def test_a_record_survives_the_disk(state: State, journal: Path) -> None:
    record = _record(state)
    with open_journal(journal, worker="w1", machine="m") as opened:
        opened.write(record)
    with open_journal(journal, worker="w1", machine="m") as opened:
        assert opened.records == {record.offer: record}


def test_nobody_else_can_read_it(journal: Path) -> None:
    record = _record()
    with open_journal(journal, worker="w1", machine="m") as opened:
        opened.write(record)
    assert journal.stat().st_mode & 0o777 == 0o700
    assert (journal / "offers" / f"{record.offer}.json").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("first", "second", "expected"), [("m", "m", True), ("m", "n", False), (None, None, False)]
)
def test_takeover_needs_the_same_machine(
    first: str | None, second: str | None, expected: bool, journal: Path
) -> None:
    with open_journal(journal, worker="w1", machine=first) as opened:
        assert not opened.same_machine  # a new journal proves nothing about older processes
    with open_journal(journal, worker="w1", machine=second) as opened:
        assert opened.same_machine == expected


def test_a_write_that_was_cut_leaves_the_older_record(journal: Path) -> None:
    record = _record()
    with open_journal(journal, worker="w1", machine="m") as opened:
        opened.write(record)
    leftover = journal / "offers" / f"{record.offer}.json.new"
    leftover.write_bytes(b'{"sta')
    with open_journal(journal, worker="w1", machine="m") as opened:
        assert opened.records == {record.offer: record}
    assert not leftover.exists()


def test_damage_is_set_aside_and_kept(journal: Path) -> None:
    record, stranger = _record(), uuid4()
    with open_journal(journal, worker="w1", machine="m") as opened:
        opened.write(record)
    content = (journal / "offers" / f"{record.offer}.json").read_bytes()
    (journal / "offers" / f"{stranger}.json").write_bytes(content)
    for _ in range(2):
        (journal / "offers" / "x.json").write_bytes(b"")
        with open_journal(journal, worker="w1", machine="m") as opened:
            assert opened.records == {record.offer: record}
    assert {path.name for path in (journal / "damaged").iterdir()} == {
        f"{stranger}.json.1",
        "x.json.1",
        "x.json.2",
    }


def test_two_processes_never_share_it(journal: Path) -> None:
    with (
        open_journal(journal, worker="w1", machine="m"),
        pytest.raises(TemporaryError, match="Another process"),
    ):
        open_journal(journal, worker="w1", machine="m").__enter__()


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b'{"format": 2, "worker": "w1", "machine": "m"}', "newer version"),
        (b'{"format": 1, "worker": "w2", "machine": "m"}', "belongs to worker 'w2'"),
        (b"{", "damaged"),
    ],
)
def test_a_journal_that_is_not_ours(content: bytes, reason: str, journal: Path) -> None:
    with open_journal(journal, worker="w1", machine="m"):
        pass
    (journal / "owner.json").write_bytes(content)
    with pytest.raises(ConfigurationError, match=reason):
        open_journal(journal, worker="w1", machine="m").__enter__()
    assert (journal / "owner.json").read_bytes() == content


def test_a_folder_that_others_can_read(journal: Path) -> None:
    journal.mkdir(mode=0o755)
    with pytest.raises(ConfigurationError, match=r"0755.*chmod"):
        open_journal(journal, worker="w1", machine="m").__enter__()


def test_a_read_only_file_system(journal: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> int:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(owner, "write_durably", refuse)
    with pytest.raises(ConfigurationError, match="read-only"):
        open_journal(journal, worker="w1", machine="m").__enter__()


def _full_disk(monkeypatch: pytest.MonkeyPatch, *states: str) -> None:
    write = Journal.write

    def refuse(self: Journal, record: Record) -> Record:
        if record.state in states:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write(self, record)

    monkeypatch.setattr(Journal, "write", refuse)


@pytest.mark.parametrize("state", ["accepted", "starting"])
async def test_a_full_disk_before_the_start_gives_the_work_back(
    state: str, journal: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _full_disk(monkeypatch, state)
    async with open_fake_ingress() as ingress:
        ingress.give(["true"])
        async with running_agent(ingress, journal, limit=1):
            await ingress.wait_call("decline")
            ingress.queue.clear()
    assert not ingress.named("starting")


async def test_a_full_disk_at_the_launch_starts_nothing(
    journal: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _full_disk(monkeypatch, "launching")
    ran = tmp_path / "ran"
    async with open_fake_ingress() as ingress:
        attempt = ingress.give(["touch", str(ran)])
        async with running_agent(ingress, journal):
            await ingress.wait_until(lambda: attempt.start_failure is not None)
    assert not ran.exists()


async def test_a_full_disk_after_the_launch_still_tells_the_truth(
    journal: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _full_disk(monkeypatch, "running", "finished", "reported")
    async with open_fake_ingress() as ingress:
        attempt = ingress.give(["sh", "-c", "exit 9"])
        async with running_agent(ingress, journal):
            await ingress.wait_until(lambda: attempt.completion is not None)
    assert attempt.completion is not None
    assert attempt.completion.exit_code == 9


async def test_a_disk_that_takes_no_offer_is_tried_again(journal: Path, monkeypatch: Any) -> None:
    with monkeypatch.context() as patch:
        _full_disk(patch, "offered")
        async with open_fake_ingress() as ingress:
            attempt = ingress.give(["true"])
            async with running_agent(ingress, journal):
                await ingress.wait_call("register")
                patch.undo()
                await ingress.wait_until(lambda: attempt.completion is not None)
