"""Everything control can be told: frozen, with units, checked before any socket or database is touched."""

from __future__ import annotations

import re
import secrets
import socket
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path
from typing import Final

from tenure_contracts.duration import DurationError, parse_duration
from tenure_http.tls import TlsMaterial

PREFIX: Final = "TENURE_CONTROL_"

OPERATOR_DATABASE_URL: Final = "TENURE_OPERATOR_DATABASE_URL"

INTERVAL_S_MIN: Final = 0.25
INTERVAL_S_MAX: Final = 3600.0

_REPLICA: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")


class SettingsError(Exception):
    """Settings that cannot be meant. The text names each setting, what was read, and what would be right."""


@dataclass(frozen=True)
class Address:
    """Where to listen. Port 0: one that is free."""

    host: str
    port: int

    @property
    def loopback(self) -> bool:
        """Whether only this machine can reach it."""
        try:
            return ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def replica_name() -> str:
    """The name of this process when nobody gave it one: its host, and something that no other process has."""
    return f"{socket.gethostname()[:40]}-{secrets.token_hex(2)}"


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The settings of one control process; the name of each in the environment is `TENURE_CONTROL_…`."""

    database_url: str
    """`DATABASE_URL`: the address of the database, as the role tenure_control."""

    operator_database_url: str
    """`TENURE_OPERATOR_DATABASE_URL`: the same database, as the role tenure_operator."""

    direct_database_url: str | None = None
    """`DIRECT_DATABASE_URL`: around a pooler, for notifications; as DATABASE_URL when not given."""

    listen: Address = Address("127.0.0.1", 7400)
    """`LISTEN`: where operators, their tools and probes connect."""

    replica: str = field(default_factory=replica_name)
    """`REPLICA`: the name of this process in claims and events; its host and something random by default."""

    interval_s: float = 1.0
    """`INTERVAL`: the rest between two cycles of the scheduler cadence, 250ms to 1h."""

    cancellation_interval_s: float = 1.0
    """`CANCELLATION_INTERVAL`: the same for the cancellation cadence."""

    recovery_page: int = 16
    """`RECOVERY_PAGE`: attempts that one cycle recovers, at most 64."""

    retry_page: int = 16
    """`RETRY_PAGE`: runs between two tries that one cycle moves on, at most 64."""

    schedule_claims: int = 16
    """`SCHEDULE_CLAIMS`: scheduling decisions of one cycle, at most 256."""

    drain_budget_s: float = 10.0
    """`DRAIN_BUDGET`: how long requests, and then each cadence, may take to end when the process stops."""

    start_budget_s: float = 60.0
    """`START_BUDGET`: how long an unreachable database is tried at the first start."""

    startup_passes: int = 8
    """`STARTUP_PASSES`: passes of recovery before a replica starts, at most 64."""

    exit_on_database_loss: bool = False
    """`EXIT_ON_DATABASE_LOSS`: end with 75 when the database is lost, instead of beginning anew."""

    statements: int = 128
    """`STATEMENTS`: prepared statements per connection; 0 behind a pooler in transaction mode."""

    tls: TlsMaterial | None = None
    """`TLS_CERTIFICATE`, `TLS_KEY`, `TLS_CLIENT_CA`: PEM files."""

    insecure_plaintext: bool = False
    """`INSECURE_PLAINTEXT`: serve plain HTTP beyond loopback, because something in front speaks TLS."""


def read_settings(environ: Mapping[str, str]) -> Settings:
    """Build the settings from `TENURE_CONTROL_…` names. Raises SettingsError naming all that is wrong."""
    reader = _Reader(environ)
    settings = Settings(
        database_url=reader.required("DATABASE_URL", "postgresql://tenure_control@host/database"),
        operator_database_url=reader.operator_url(),
        direct_database_url=reader.text("DIRECT_DATABASE_URL"),
        listen=reader.address("LISTEN", Settings.listen),
        replica=reader.replica(),
        interval_s=reader.seconds("INTERVAL", Settings.interval_s),
        cancellation_interval_s=reader.seconds("CANCELLATION_INTERVAL", Settings.cancellation_interval_s),
        recovery_page=reader.count("RECOVERY_PAGE", Settings.recovery_page, 1, 64),
        retry_page=reader.count("RETRY_PAGE", Settings.retry_page, 1, 64),
        schedule_claims=reader.count("SCHEDULE_CLAIMS", Settings.schedule_claims, 1, 256),
        drain_budget_s=reader.seconds("DRAIN_BUDGET", Settings.drain_budget_s),
        start_budget_s=reader.seconds("START_BUDGET", Settings.start_budget_s),
        startup_passes=reader.count("STARTUP_PASSES", Settings.startup_passes, 1, 64),
        exit_on_database_loss=reader.yes("EXIT_ON_DATABASE_LOSS"),
        statements=reader.count("STATEMENTS", Settings.statements, 0, 10_000),
        tls=reader.tls(),
        insecure_plaintext=reader.yes("INSECURE_PLAINTEXT"),
    )
    faults = [*reader.faults, *reader.unknown(), *_contradictions(settings)]
    if faults:
        raise SettingsError("; ".join(faults))
    return settings


def _contradictions(settings: Settings) -> Iterator[str]:
    if settings.tls is None and not settings.listen.loopback and not settings.insecure_plaintext:
        yield (
            f"{PREFIX}LISTEN is {settings.listen}, which other machines can reach, without TLS: give "
            f"{PREFIX}TLS_CERTIFICATE and {PREFIX}TLS_KEY, or say {PREFIX}INSECURE_PLAINTEXT=yes"
        )
    for name, interval_s in (
        ("INTERVAL", settings.interval_s),
        ("CANCELLATION_INTERVAL", settings.cancellation_interval_s),
    ):
        if not INTERVAL_S_MIN <= interval_s <= INTERVAL_S_MAX:
            yield f"{PREFIX}{name} must be from 250ms to 1h, not {interval_s:g} s"


class _Reader:
    """Reads one name after the other, collecting what is wrong instead of stopping at the first."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self.faults: list[str] = []
        self._environ = environ
        self._known = {"URL"}  # of the command line, which shares the environment

    def text(self, name: str) -> str | None:
        self._known.add(name)
        return self._environ.get(PREFIX + name) or None

    def required(self, name: str, example: str) -> str:
        value = self.text(name)
        if value is None:
            self.faults.append(f"{PREFIX}{name} is missing: give it as {example}")
        return value or ""

    def operator_url(self) -> str:
        value = self._environ.get(OPERATOR_DATABASE_URL)
        if not value:
            example = "postgresql://tenure_operator@host/database"
            self.faults.append(f"{OPERATOR_DATABASE_URL} is missing: give it as {example}")
        return value or ""

    def address(self, name: str, default: Address) -> Address:
        value = self.text(name)
        if value is None:
            return default
        host, _, port = value.rpartition(":")
        if not host or not port.isascii() or not port.isdecimal() or int(port) > 65535:
            self.faults.append(f"{PREFIX}{name} must be HOST:PORT, not {value!r}")
            return default
        return Address(host.strip("[]"), int(port))

    def replica(self) -> str:
        value = self.text("REPLICA")
        if value is not None and not _REPLICA.fullmatch(value):
            self.faults.append(
                f"{PREFIX}REPLICA must be 1 to 63 letters, digits, '.', '_', '-', not {value!r}"
            )
        return value or replica_name()

    def seconds(self, name: str, default: float) -> float:
        value = self.text(name)
        try:
            return default if value is None else parse_duration(value) / 1e6
        except DurationError as error:
            self.faults.append(f"{PREFIX}{name}: {error}")
            return default

    def count(self, name: str, default: int, low: int, high: int) -> int:
        value = self.text(name)
        if value is None:
            return default
        if not (value.isascii() and value.isdecimal() and len(value) < 10 and low <= int(value) <= high):
            self.faults.append(f"{PREFIX}{name} must be a whole number from {low} to {high}, not {value!r}")
            return default
        return int(value)

    def yes(self, name: str) -> bool:
        value = self.text(name) or "no"
        if value not in ("yes", "no"):
            self.faults.append(f"{PREFIX}{name} must be yes or no, not {value!r}")
        return value == "yes"

    def tls(self) -> TlsMaterial | None:
        certificate, key = self.text("TLS_CERTIFICATE"), self.text("TLS_KEY")
        client_ca = self.text("TLS_CLIENT_CA")
        if certificate is None and key is None and client_ca is None:
            return None
        if certificate is None or key is None:
            self.faults.append(f"{PREFIX}TLS_CERTIFICATE and {PREFIX}TLS_KEY belong together")
            return None
        return TlsMaterial(Path(certificate), Path(key), Path(client_ca) if client_ca else None)

    def unknown(self) -> Iterator[str]:
        for name in sorted(self._environ):
            if name.startswith(PREFIX) and name.removeprefix(PREFIX) not in self._known:
                yield f"{name} is not a setting of control"
