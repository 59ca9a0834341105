"""Everything control can be told: frozen, with units, checked before any socket or database is touched."""

from __future__ import annotations

import re
import secrets
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from tenure_http.tls import TlsMaterial
from tenure_process.address import Address
from tenure_process.settings import Reader

PREFIX: Final = "TENURE_CONTROL_"

OTHERS: Final = ("TENURE_CONTROL_URL",)
"""Where the command line finds control; often in the same environment."""

INTERVAL_S: Final = (0.25, 3600.0)
"""The shortest and the longest rest between two cycles."""

_REPLICA: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")


def replica_name() -> str:
    """The name of this process when nobody gave it one: its host, and something that no other process has."""
    return f"{socket.gethostname()[:40]}-{secrets.token_hex(2)}"


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The settings of one control process; the name of each in the environment is `TENURE_CONTROL_…`."""

    database_url: str = field(repr=False)
    """`DATABASE_URL`: the address of the database, as the role tenure_control."""

    operator_database_url: str = field(repr=False)
    """`TENURE_OPERATOR_DATABASE_URL`: the same database, as the role tenure_operator."""

    direct_url: str | None = field(default=None, repr=False)
    """`DIRECT_URL`: around a pooler, for notifications; as DATABASE_URL when not given."""

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

    debug: bool = False
    """`DEBUG`: log every cycle, also those that changed nothing."""

    insecure_plaintext: bool = False
    """`INSECURE_PLAINTEXT`: serve plain HTTP beyond loopback, because something in front speaks TLS."""


def read_settings(environ: Mapping[str, str]) -> Settings:
    """Build the settings from `TENURE_CONTROL_…` names. Raises SettingsError naming all that is wrong."""
    reader = Reader(environ, PREFIX, others=OTHERS)
    listen = reader.address("TENURE_CONTROL_LISTEN", Settings.listen)
    tls = reader.tls()
    settings = Settings(
        database_url=reader.required(
            "TENURE_CONTROL_DATABASE_URL", "postgresql://tenure_control@host/database"
        ),
        operator_database_url=reader.required(
            "TENURE_OPERATOR_DATABASE_URL", "postgresql://tenure_operator@host/database"
        ),
        direct_url=reader.text("TENURE_CONTROL_DIRECT_URL"),
        listen=listen,
        replica=reader.text("TENURE_CONTROL_REPLICA") or replica_name(),
        interval_s=reader.seconds("TENURE_CONTROL_INTERVAL", Settings.interval_s, *INTERVAL_S),
        cancellation_interval_s=reader.seconds(
            "TENURE_CONTROL_CANCELLATION_INTERVAL", Settings.cancellation_interval_s, *INTERVAL_S
        ),
        recovery_page=reader.count("TENURE_CONTROL_RECOVERY_PAGE", Settings.recovery_page, 1, 64),
        retry_page=reader.count("TENURE_CONTROL_RETRY_PAGE", Settings.retry_page, 1, 64),
        schedule_claims=reader.count("TENURE_CONTROL_SCHEDULE_CLAIMS", Settings.schedule_claims, 1, 256),
        drain_budget_s=reader.seconds("TENURE_CONTROL_DRAIN_BUDGET", Settings.drain_budget_s),
        start_budget_s=reader.seconds("TENURE_CONTROL_START_BUDGET", Settings.start_budget_s),
        startup_passes=reader.count("TENURE_CONTROL_STARTUP_PASSES", Settings.startup_passes, 1, 64),
        exit_on_database_loss=reader.yes("TENURE_CONTROL_EXIT_ON_DATABASE_LOSS"),
        statements=reader.count("TENURE_CONTROL_STATEMENTS", Settings.statements, 0, 10_000),
        tls=tls,
        debug=reader.yes("TENURE_CONTROL_DEBUG"),
        insecure_plaintext=reader.plaintext(listen, tls),
    )
    if not _REPLICA.fullmatch(settings.replica):
        reader.fault(
            f"{PREFIX}REPLICA must be 1 to 63 letters, digits, '.', '_', '-', not {settings.replica!r}"
        )
    reader.check()
    return settings
