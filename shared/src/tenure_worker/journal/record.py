"""One record per offer, and the order in which it may grow.

Every state names the step that may have happened once the record is on the disk:

    offered ──► accepted ──► starting ──► launching ──► running ──► finished ──► reported
                                 │             └────────────────────────▲
                                 └──────────────────────────────────────┘

- `offered`: the pull with this id and token may have reached the ingress;
- `accepted`: its answer was a lease;
- `starting`: the start barrier may have been passed, but no launcher exists;
- `launching`: a launcher may exist; with an identity, it may have been told to go;
- `running`: the command was executed;
- `finished`: what the completion will say, word for word, so that every repetition says the same;
- `reported`: the ingress has stored it; nothing of it is needed any more.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final, Literal
from uuid import UUID

import msgspec
from msgspec import Struct

from tenure_worker.launcher.receipt import Started
from tenure_worker.machine import Identity

State = Literal["offered", "accepted", "starting", "launching", "running", "finished", "reported"]

FORMAT: Final = 1

TRANSITIONS: Final[frozenset[tuple[State, State]]] = frozenset(
    {
        ("offered", "accepted"),
        ("accepted", "starting"),
        ("starting", "launching"),
        ("starting", "finished"),
        ("launching", "running"),
        ("launching", "finished"),
        ("running", "finished"),
        ("finished", "reported"),
    }
)

BEFORE_START: Final = frozenset[State]({"offered", "accepted"})
UNDER_WAY: Final = frozenset[State]({"launching", "running"})


class Lease(Struct, frozen=True, kw_only=True):
    """The fence as the ingress last told it; any version up to the stored one is accepted."""

    attempt: UUID
    lease_generation: int
    lease_version: int


class Result(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is reported at the end. `spawned` false: proven that the command was never executed."""

    spawned: bool = True
    outcome: Literal["succeeded", "failed"] = "failed"
    exit_code: int | None = None
    started_at: datetime | None = None
    finished_at: datetime | None = None
    error_code: str | None = None
    error_message: str = ""
    stop_answer: Literal["stopped", "already_ended", "ignored"] | None = None
    output: Any = None
    log: dict[str, Any] | None = None


class Record(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One offer of this worker, from its invention to the stored report."""

    state: State
    offer: UUID
    token: str
    lease: Lease | None = None
    launcher: Identity | None = None
    started: Started | None = None
    result: Result | None = None

    def __repr__(self) -> str:
        return f"Record(state={self.state!r}, offer={self.offer!r}, lease={self.lease!r})"

    def advance(self, state: State, **facts: Any) -> Record:
        """The record of the next step. A step that the table does not know is a ValueError."""
        if (self.state, state) not in TRANSITIONS:
            raise ValueError(f"a record cannot go from {self.state} to {state}")
        return msgspec.structs.replace(self, state=state, **facts)


def encode(record: Record) -> bytes:
    """The content of a record's file."""
    return msgspec.json.format(msgspec.json.encode(record), indent=1)


def decode(content: bytes, *, offer: str) -> Record:
    """Read the file of an offer's record; ValueError for anything this code did not write."""
    try:
        record = msgspec.json.decode(content, type=Record)
    except (msgspec.MsgspecError, RecursionError, UnicodeError) as error:
        raise ValueError(f"not a record: {error}") from error
    if str(record.offer) != offer:
        raise ValueError(f"the record of another offer, {record.offer}")
    if record.state != "offered" and record.lease is None:
        raise ValueError(f"a record in state {record.state} without a lease")
    if record.state in ("finished", "reported") and record.result is None:
        raise ValueError(f"a record in state {record.state} without a result")
    return record
