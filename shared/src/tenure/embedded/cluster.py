"""The data folder: made once, checked before each start."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path

from tenure.embedded.error import EmbeddedServerError
from tenure.embedded.place import Place

SUPERUSER = "postgres"

DURABLE = {"log_min_messages": "warning"}

# For tests that do not crash the machine: nothing waits for a disk.
FAST = DURABLE | {
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "autovacuum": "off",
    "wal_level": "minimal",
    "max_wal_senders": "0",
}


def ensure_cluster(place: Place, binaries: Path, major: int, *, durable: bool) -> None:
    """Make the data folder when there is none; refuse one of another major version."""
    marker = place.data / "PG_VERSION"
    if not marker.exists():
        _initialise(place, binaries, durable=durable)
    found = marker.read_text().strip()
    if found != str(major):
        raise EmbeddedServerError(
            f"{place.data} belongs to PostgreSQL {found} and the binaries are {major}: "
            "set PG_BINDIR to the old version's binaries, or remove the folder to begin anew"
        )


def _initialise(place: Place, binaries: Path, *, durable: bool) -> None:
    """Run initdb beside the final name, so that an interrupted one leaves no half cluster behind."""
    fresh = place.home / "data.new"
    shutil.rmtree(fresh, ignore_errors=True)
    place.launcher.own(fresh, 0o700)
    options = ["-U", SUPERUSER, "-E", "UTF8", "--locale=C", "-A", "reject", "--no-instructions"]
    speed = [] if durable else ["--no-sync"]
    done = place.launcher.run(binaries / "initdb", "-D", fresh, *options, *speed)
    if done.returncode != 0:
        raise EmbeddedServerError(f"initdb failed: {done.stderr.strip()}")
    fresh.rename(place.data)


def write_access(place: Place, roles: Iterable[str], *, tcp: bool) -> None:
    """Say who may connect: the caller's account as any of `roles`; over TCP whoever knows a password."""
    hosts = ["host all all 127.0.0.1/32 scram-sha-256"] if tcp else []
    rules = ["local all all peer map=tenure", *hosts]
    client = place.launcher.client
    (place.data / "pg_hba.conf").write_text("\n".join(rules) + "\n")
    (place.data / "pg_ident.conf").write_text("".join(f'tenure "{client}" "{role}"\n' for role in roles))


def settings(place: Place, *, durable: bool, port: int, tcp: bool) -> dict[str, str]:
    """The settings of the server, given on its command line so that the files of the cluster stay as made."""
    base = DURABLE if durable else FAST
    return base | {
        "unix_socket_directories": str(place.socket),
        "unix_socket_permissions": "0777",  # reach is not access: peer authentication decides
        "listen_addresses": "127.0.0.1" if tcp else "",
        "port": str(port),
    }
