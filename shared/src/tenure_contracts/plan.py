"""The plan a run executes, as it is stored: durations are integer microseconds, templates are filled in."""

from __future__ import annotations

from typing import Any, Final, Literal

import msgspec

from tenure_contracts import bounds

Executor = Literal["command", "handler"]
EXECUTORS: Final[tuple[Executor, ...]] = ("command", "handler")
"""The one list of executor kinds, shared by writers, recovery and evidence providers."""


class StoredPlan(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What one run executes: `argv`, `env`, `cwd`, `stdin`, or `handler` and `arguments`."""

    executor: Executor
    argv: tuple[str, ...] | None = None
    env: dict[str, str] = msgspec.field(default_factory=dict)
    cwd: str | None = None
    stdin: str | None = None
    handler: str | None = None
    arguments: Any = None
    timeout_us: int | None = None
    kill_grace_us: int = bounds.KILL_GRACE_US
    stop_on_lost_contact_us: int | None = None
    secrets: tuple[str, ...] = ()
    log_limit_bytes: int = bounds.LOG_LIMIT_BYTES


_DECODER: Final = msgspec.json.Decoder(StoredPlan)


def encode_plan(plan: StoredPlan) -> str:
    """The stored text of a plan: sorted keys, no spaces."""
    return msgspec.json.encode(plan, order="sorted").decode()


def decode_plan(text: str | bytes) -> StoredPlan:
    """Read a stored plan. Raises msgspec.DecodeError for text that this code did not write."""
    return _DECODER.decode(text)
