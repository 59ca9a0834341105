"""Everything the ingress can be told: frozen, with units, checked before anything is opened."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from tenure_contracts import bounds
from tenure_http import Limits
from tenure_http.tls import TlsMaterial
from tenure_process.address import Address
from tenure_process.limits import read_limits
from tenure_process.settings import Reader

PREFIX: Final = "TENURE_INGRESS_"

OTHERS: Final = ("TENURE_INGRESS_URL",)
"""Where workers and the command line find the ingress; often in the same environment."""

PROCESSES_MAX: Final = 64
"""Each has connections to the database of its own, and more processes than processors serve nobody."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The settings of one ingress process; the name of each in the environment is `TENURE_INGRESS_…`."""

    database_url: str = field(repr=False)
    """`DATABASE_URL`: the address of the database, as the role tenure_ingress."""

    direct_url: str | None = field(default=None, repr=False)
    """`DIRECT_URL`: around a pooler, for notifications; as DATABASE_URL when not given."""

    listen: Address = Address("127.0.0.1", 7401)
    """`LISTEN`: where workers connect."""

    probe_listen: Address = Address("127.0.0.1", 7402)
    """`PROBE_LISTEN`: where /livez, /readyz and /metrics are."""

    lease_s: float = bounds.LEASE_S
    """`LEASE`: how long a run lease lasts; at least two heartbeats and three renewals."""

    renew_s: float = bounds.RENEW_S
    """`RENEW`: how often workers are told to renew."""

    heartbeat_s: float = bounds.HEARTBEAT_S
    """`HEARTBEAT`: how often workers are told to send a heartbeat."""

    drain_budget_s: float = 10.0
    """`DRAIN_BUDGET`: how long requests in flight may take when the process stops."""

    start_budget_s: float = 60.0
    """`START_BUDGET`: how long an unreachable database is tried at the first start."""

    statements: int = 128
    """`STATEMENTS`: prepared statements per connection; 0 behind a pooler in transaction mode."""

    failures_per_peer: int = 30
    """`FAILURES_PER_PEER`: failed authentications a minute of one address
    (IPv6: of one /64) before it is refused unheard. Behind a proxy or a load balancer that hides addresses
    everybody is one peer: give as many as `FAILURES`."""

    failures: int = 600
    """`FAILURES`: failed authentications a minute of all peers together, in this process."""

    tls: TlsMaterial | None = None
    """`TLS_CERTIFICATE`, `TLS_KEY`, `TLS_CLIENT_CA`: PEM files."""

    processes: int = 1
    """`PROCESSES`: how many processes serve the same address; more than one are watched by a parent."""

    limits: Limits = field(default_factory=Limits)
    """`LIMIT_…`: what the HTTP server grants to its peers."""

    debug: bool = False
    """`DEBUG`: log every request, in one line without its content."""

    insecure_plaintext: bool = False
    """`INSECURE_PLAINTEXT`: serve plain HTTP beyond loopback, because something in front speaks TLS."""


def read_settings(environ: Mapping[str, str]) -> Settings:
    """Build the settings from `TENURE_INGRESS_…` names. Raises SettingsError naming all that is wrong."""
    reader = Reader(environ, PREFIX, others=OTHERS)
    listen = reader.address("TENURE_INGRESS_LISTEN", Settings.listen)
    tls = reader.tls()
    settings = Settings(
        database_url=reader.required(
            "TENURE_INGRESS_DATABASE_URL", "postgresql://tenure_ingress@host/database"
        ),
        direct_url=reader.text("TENURE_INGRESS_DIRECT_URL"),
        listen=listen,
        probe_listen=reader.address("TENURE_INGRESS_PROBE_LISTEN", Settings.probe_listen),
        lease_s=reader.seconds("TENURE_INGRESS_LEASE", Settings.lease_s, 1, 3600),
        renew_s=reader.seconds("TENURE_INGRESS_RENEW", Settings.renew_s),
        heartbeat_s=reader.seconds("TENURE_INGRESS_HEARTBEAT", Settings.heartbeat_s),
        drain_budget_s=reader.seconds("TENURE_INGRESS_DRAIN_BUDGET", Settings.drain_budget_s),
        start_budget_s=reader.seconds("TENURE_INGRESS_START_BUDGET", Settings.start_budget_s),
        statements=reader.count("TENURE_INGRESS_STATEMENTS", Settings.statements, 0, 10_000),
        failures_per_peer=reader.count(
            "TENURE_INGRESS_FAILURES_PER_PEER", Settings.failures_per_peer, 1, 1_000_000
        ),
        failures=reader.count("TENURE_INGRESS_FAILURES", Settings.failures, 1, 1_000_000),
        tls=tls,
        processes=reader.count("TENURE_INGRESS_PROCESSES", Settings.processes, 1, PROCESSES_MAX),
        limits=read_limits(reader, PREFIX),
        debug=reader.yes("TENURE_INGRESS_DEBUG"),
        insecure_plaintext=reader.plaintext(listen, tls),
    )
    for sentence in _contradictions(settings):
        reader.fault(sentence)
    reader.check()
    return settings


def _contradictions(settings: Settings) -> Iterator[str]:
    if settings.listen == settings.probe_listen and settings.listen.port:
        yield f"{PREFIX}LISTEN and {PREFIX}PROBE_LISTEN are both {settings.listen}: each needs its own"
    if settings.renew_s > settings.lease_s / 3:
        yield f"{PREFIX}RENEW must be at most a third of {PREFIX}LEASE: a lost renewal must not end a lease"
    if settings.heartbeat_s > settings.lease_s / 2:
        yield f"{PREFIX}HEARTBEAT must be at most half of {PREFIX}LEASE"
