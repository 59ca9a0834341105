"""Everything an agent can be told, frozen, checked before anything is opened.

`read_settings` is pure: a mapping of the environment and the flags of the command line go in, and whichever
flag is given wins over the name in the environment.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from tenure_contracts import bounds
from tenure_contracts.duration import parse_duration
from tenure_contracts.identity import check_name
from tenure_process.exit import ExitCode
from tenure_worker.error import WorkerError

# What a command inherits from the agent; everything else comes from its task.
INHERITED = ("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "TZ", "TMPDIR")

Survivors = Literal["adopt", "stop"]


class UsageError(WorkerError):
    """A flag or an environment name has a value that cannot be meant."""

    exit_code = ExitCode.USAGE


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The settings of one agent."""

    name: str
    """`TENURE_WORKER_NAME`, `--name`: the worker's name; the credential decides whether it is its own."""

    ingress_url: str
    """`TENURE_INGRESS_URL`: where the ingress listens."""

    journal: Path
    """`TENURE_WORKER_JOURNAL`, `--journal`: a folder of mode 0700 on a local file system."""

    token: str | None = field(default=None, repr=False)
    """`TENURE_WORKER_TOKEN`: the credential itself; a credential file wins over it."""

    credential_file: Path | None = None
    """`TENURE_WORKER_CREDENTIAL_FILE`, `--credential-file`: mode 0600, read again when it changes."""

    labels: Mapping[str, str] = field(default_factory=dict)
    """`TENURE_WORKER_LABELS` (`region=eu,os=linux`), `--label K=V` repeated."""

    limit: int = 4
    """`TENURE_WORKER_LIMIT`, `--limit`: commands at the same time, 1 to 1024."""

    drain_budget_s: float = 30.0
    """`TENURE_WORKER_DRAIN_BUDGET`, `--drain-budget` (a duration): how long a drain waits for commands."""

    survivors: Survivors = "adopt"
    """`TENURE_WORKER_SURVIVORS`, `--adopt` or `--stop-survivors`: what becomes of commands that are still
    running when the agent has to go: left to the next agent on this journal, or stopped."""

    session_lease_s: float = bounds.SESSION_LEASE_S
    """`TENURE_WORKER_SESSION_LEASE` (a duration): how long the session lives without a sign of life."""

    wait_s: float = 20.0
    """How long one pull may wait for work at the ingress, in seconds."""

    answer_timeout_s: float = 15.0
    """How long one request may take, waiting at the ingress apart, before it is made again."""

    machine: str | None = None
    """The id of this machine, None when it has none: then nothing is ever concluded from absence."""

    inherited: Mapping[str, str] = field(default_factory=dict)
    """What commands inherit from the agent's environment."""


def read_settings(
    environ: Mapping[str, str], flags: Mapping[str, Any] | None = None, *, machine: str | None = None
) -> Settings:
    """Build settings from `TENURE_…` names and flags (field names as keys; None means: not given).

    `labels` is a list of `K=V`; durations are texts such as `90s`. Raises UsageError naming what was read.
    """
    given = {key: value for key, value in (flags or {}).items() if value not in (None, (), [])}

    def value(key: str, name: str, default: Any = None) -> Any:
        return given.get(key, environ.get(name) or default)

    name = _name(value("name", "TENURE_WORKER_NAME"))
    return Settings(
        name=name,
        ingress_url=_url(value("ingress_url", "TENURE_INGRESS_URL")),
        journal=Path(value("journal", "TENURE_WORKER_JOURNAL") or _default_journal(environ, name)).absolute(),
        token=value("token", "TENURE_WORKER_TOKEN"),
        credential_file=_path(value("credential_file", "TENURE_WORKER_CREDENTIAL_FILE")),
        labels=_labels(value("labels", "TENURE_WORKER_LABELS", "")),
        limit=_limit(value("limit", "TENURE_WORKER_LIMIT", Settings.limit)),
        drain_budget_s=_seconds("drain budget", value("drain_budget", "TENURE_WORKER_DRAIN_BUDGET", "30s")),
        survivors=_survivors(value("survivors", "TENURE_WORKER_SURVIVORS", "adopt")),
        session_lease_s=_session_lease(value("session_lease", "TENURE_WORKER_SESSION_LEASE", "45s")),
        machine=machine,
        inherited={name: environ[name] for name in INHERITED if name in environ},
    )


def _name(value: str | None) -> str:
    if not value:
        raise UsageError("A worker needs a name: --name or TENURE_WORKER_NAME.")
    try:
        return check_name(value, "worker name")
    except ValueError as error:
        raise UsageError(str(error)) from error


def _url(value: str | None) -> str:
    parts = urlsplit(value or "")
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
        raise UsageError(
            f"TENURE_INGRESS_URL must be the http or https address of the ingress, not {value!r}."
        )
    return (value or "").rstrip("/")


def _default_journal(environ: Mapping[str, str], name: str) -> Path:
    state = environ.get("XDG_STATE_HOME") or Path(environ.get("HOME", "/var/lib"), ".local/state")
    return Path(state, "tenure", "worker", name)


def _path(value: str | Path | None) -> Path | None:
    return Path(value) if value else None


def _labels(value: str | Iterable[str]) -> dict[str, str]:
    items = value.split(",") if isinstance(value, str) else value
    pairs = [item.partition("=") for item in items if item]
    for key, separator, _ in pairs:
        if not separator or not key:
            raise UsageError(f"A label is KEY=VALUE, not {key!r}.")
    if len({key for key, _, _ in pairs}) != len(pairs):
        raise UsageError("A label key is given twice.")
    return {key: text for key, _, text in pairs}


def _limit(value: str | int) -> int:
    try:
        limit = int(value)
    except ValueError as error:
        raise UsageError(f"The limit must be a number, not {value!r}.") from error
    if not 1 <= limit <= bounds.SESSION_LIMIT:
        raise UsageError(f"The limit must be from 1 to {bounds.SESSION_LIMIT}, not {limit}.")
    return limit


def _seconds(what: str, value: str) -> float:
    try:
        return parse_duration(value) / 1e6
    except ValueError as error:
        raise UsageError(f"The {what} must be a duration such as 90s: {error}") from error


def _session_lease(value: str) -> float:
    lease_s = _seconds("session lease", value)
    low, high = bounds.SESSION_LEASE_S_MIN, bounds.SESSION_LEASE_S_MAX
    if not (low <= lease_s <= high and math.isfinite(lease_s)):
        raise UsageError(f"The session lease must be from {low:g} to {high:g} seconds, not {lease_s:g}.")
    return lease_s


def _survivors(value: str) -> Survivors:
    if value == "adopt":
        return "adopt"
    if value == "stop":
        return "stop"
    raise UsageError(f"Survivors are either adopted or stopped, not {value!r}.")
