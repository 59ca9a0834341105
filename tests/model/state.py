"""What the reference model remembers: the facts that the design names, and nothing else.

Times are whole seconds since the beginning of the example. Ids are the texts of the wire.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeAlias

Json: TypeAlias = dict[str, Any]

STARTED = ("starting", "running")
RUN_ENDED = ("succeeded", "failed", "cancelled", "timed_out")


@dataclass(frozen=True)
class Task:
    """What a run of this task may do, and where. Delays are the waits after each try."""

    delays_s: tuple[int, ...] = ()
    retried: frozenset[str] = frozenset()
    timeout_s: int | None = None
    region: str | None = None
    exit_codes: tuple[tuple[int, str], ...] = ()


@dataclass
class Session:
    """One incarnation of a worker."""

    worker: str
    generation: int
    content: Json
    expires_at: int
    replaced: Json | None = None
    status: str = "online"
    version: int = 1

    @property
    def live(self) -> bool:
        """Expiry only lets others replace it."""
        return self.status in ("online", "draining")

    def matches(self, task: Task) -> bool:
        """Whether it may execute a task."""
        return task.region in (None, self.content["labels"].get("region"))


@dataclass
class Run:
    """A run; `events` is its version as well."""

    task: Task
    status: str = "queued"
    events: int = 2
    claims: int = 0
    cancel: str | None = None
    next_attempt_at: int | None = None


@dataclass(frozen=True)
class Statement:
    """What somebody stated about one lease generation."""

    actor: str
    state: str
    content: Json


@dataclass
class Lease:
    """The newest lease of an attempt. `given_back` has how unstarted generations ended."""

    state: str = "none"
    generation: int = 0
    version: int = 0
    worker: str = ""
    session: str = ""
    offer: str = ""
    token: str = ""
    acquired_at: int = 0
    expires_at: int = 0
    reason: str | None = None
    stop: tuple[str, int] | None = None
    deadline_at: int | None = None
    statements: list[Statement] = field(default_factory=list)

    @property
    def attested(self) -> str | None:
        """`stopped` stays, whatever is stated later."""
        states = {statement.state for statement in self.statements}
        return "stopped" if "stopped" in states else "running" if states else None

    def stated(self, state: str, actor: str) -> bool:
        """Whether this actor stated this."""
        return any((each.state, each.actor) == (state, actor) for each in self.statements)


@dataclass
class Attempt:
    """One try of a run. `told` has the content of each report that was applied."""

    attempt: str
    run: str
    number: int
    status: str = "claimed"
    dispatchable: bool = True
    deadline_at: int | None = None
    told: Json = field(default_factory=dict)
    outcome: Json | None = None
    kept: list[Json] = field(default_factory=list)
    lease: Lease = field(default_factory=Lease)
    declined: dict[str, int] = field(default_factory=dict)
    given_back: dict[int, str] = field(default_factory=dict)

    @property
    def situation(self) -> str:
        """Where it stands, as the holder of its newest lease sees it: a row of the tables."""
        if self.status == "claimed":
            return "held" if self.lease.state == "leased" else "returned"
        if self.status in STARTED:
            return "stopped" if self.lease.attested == "stopped" else self.status
        if "starting" not in self.told:
            return "dropped"
        return "decided" if self.outcome is None else "reported"


@dataclass(frozen=True)
class Spent:
    """An offer that was answered once."""

    attempt: str
    generation: int
    worker: str
    token: str


def text_of(seconds: int | None) -> str | None:
    """A time of the model as the wire writes it."""
    if seconds is None:
        return None
    days, rest = divmod(seconds, 86_400)
    return f"2030-01-{1 + days:02}T{rest // 3600:02}:{rest // 60 % 60:02}:{rest % 60:02}.000000Z"
