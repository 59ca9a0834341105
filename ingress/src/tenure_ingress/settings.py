"""Everything the ingress can be told: frozen, with units, checked before anything is opened."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import Final

from tenure_contracts.duration import DurationError, parse_duration
from tenure_http.tls import TlsMaterial

PREFIX: Final = "TENURE_INGRESS_"


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


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The settings of one ingress process; the name of each in the environment is `TENURE_INGRESS_…`."""

    database_url: str
    """`DATABASE_URL`: the address of the database, as the role tenure_ingress."""

    listen: Address = Address("127.0.0.1", 7401)
    """`LISTEN`: where workers connect."""

    probe_listen: Address = Address("127.0.0.1", 7402)
    """`PROBE_LISTEN`: where /livez, /readyz and /metrics are."""

    lease_s: float = 30.0
    """`LEASE`: how long a run lease lasts; at least two heartbeats and three renewals."""

    renew_s: float = 10.0
    """`RENEW`: how often workers are told to renew."""

    heartbeat_s: float = 15.0
    """`HEARTBEAT`: how often workers are told to send a heartbeat."""

    drain_budget_s: float = 10.0
    """`DRAIN_BUDGET`: how long requests in flight may take when the process stops."""

    start_budget_s: float = 60.0
    """`START_BUDGET`: how long an unreachable database is tried at the first start."""

    statements: int = 128
    """`STATEMENTS`: prepared statements per connection; 0 behind a pooler in transaction mode."""

    tls: TlsMaterial | None = None
    """`TLS_CERTIFICATE`, `TLS_KEY`, `TLS_CLIENT_CA`: PEM files."""

    debug: bool = False
    """`DEBUG`: log every request, in one line without its content."""

    insecure_plaintext: bool = False
    """`INSECURE_PLAINTEXT`: serve plain HTTP beyond loopback, because something in front speaks TLS."""


def read_settings(environ: Mapping[str, str]) -> Settings:
    """Build the settings from `TENURE_INGRESS_…` names. Raises SettingsError naming all that is wrong."""
    reader = _Reader(environ)
    settings = Settings(
        database_url=reader.required("DATABASE_URL", "postgresql://tenure_ingress@host/database"),
        listen=reader.address("LISTEN", Settings.listen),
        probe_listen=reader.address("PROBE_LISTEN", Settings.probe_listen),
        lease_s=reader.seconds("LEASE", Settings.lease_s),
        renew_s=reader.seconds("RENEW", Settings.renew_s),
        heartbeat_s=reader.seconds("HEARTBEAT", Settings.heartbeat_s),
        drain_budget_s=reader.seconds("DRAIN_BUDGET", Settings.drain_budget_s),
        start_budget_s=reader.seconds("START_BUDGET", Settings.start_budget_s),
        statements=reader.count("STATEMENTS", Settings.statements),
        tls=reader.tls(),
        debug=reader.yes("DEBUG"),
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
    if not 1 <= settings.lease_s <= 3600:
        yield f"{PREFIX}LEASE must be from 1s to 1h, not {settings.lease_s:g} s"
    if settings.renew_s > settings.lease_s / 3:
        yield f"{PREFIX}RENEW must be at most a third of {PREFIX}LEASE: a lost renewal must not end a lease"
    if settings.heartbeat_s > settings.lease_s / 2:
        yield f"{PREFIX}HEARTBEAT must be at most half of {PREFIX}LEASE"


class _Reader:
    """Reads one name after the other, collecting what is wrong instead of stopping at the first."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self.faults: list[str] = []
        self._environ = environ
        self._known: set[str] = set()

    def required(self, name: str, example: str) -> str:
        value = self._get(name)
        if value is None:
            self.faults.append(f"{PREFIX}{name} is missing: give it as {example}")
        return value or ""

    def address(self, name: str, default: Address) -> Address:
        value = self._get(name)
        if value is None:
            return default
        host, _, port = value.rpartition(":")
        if not host or not port.isascii() or not port.isdecimal() or int(port) > 65535:
            self.faults.append(f"{PREFIX}{name} must be HOST:PORT, not {value!r}")
            return default
        return Address(host.strip("[]"), int(port))

    def seconds(self, name: str, default: float) -> float:
        value = self._get(name)
        try:
            return default if value is None else parse_duration(value) / 1e6
        except DurationError as error:
            self.faults.append(f"{PREFIX}{name}: {error}")
            return default

    def count(self, name: str, default: int) -> int:
        value = self._get(name)
        if value is not None and not (value.isascii() and value.isdecimal()):
            self.faults.append(f"{PREFIX}{name} must be a whole number, not {value!r}")
            return default
        return default if value is None else int(value)

    def yes(self, name: str) -> bool:
        value = self._get(name) or "no"
        if value not in ("yes", "no"):
            self.faults.append(f"{PREFIX}{name} must be yes or no, not {value!r}")
        return value == "yes"

    def tls(self) -> TlsMaterial | None:
        certificate, key = self._get("TLS_CERTIFICATE"), self._get("TLS_KEY")
        client_ca = self._get("TLS_CLIENT_CA")
        if certificate is None and key is None and client_ca is None:
            return None
        if certificate is None or key is None:
            self.faults.append(f"{PREFIX}TLS_CERTIFICATE and {PREFIX}TLS_KEY belong together")
            return None
        return TlsMaterial(Path(certificate), Path(key), Path(client_ca) if client_ca else None)

    def unknown(self) -> Iterator[str]:
        for name in sorted(self._environ):
            if (
                name.startswith(PREFIX)
                and name.removeprefix(PREFIX) not in self._known
                and name not in _OTHERS
            ):
                yield f"{name} is not a setting of the ingress"

    def _get(self, name: str) -> str | None:
        self._known.add(name)
        return self._environ.get(PREFIX + name) or None


# Where others find the ingress: of workers and the command line, and often in the same environment.
_OTHERS: Final = frozenset({"TENURE_INGRESS_URL"})
