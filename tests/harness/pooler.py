"""PgBouncer in transaction mode before a test's server, as operators run it: its own account, passwords.

with temporary_pooler(server, "shop", {"tenure_ingress": "word"}) as pooler:
    async with open_ingress(database, database_url=pooler.dsn("tenure_ingress"), statements=0):
        pooler.stop()
        pooler.start()
"""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

from tenure.embedded import EmbeddedServer
from tests.harness.fixture import temporary_folder
from tests.project.place import tool

PATIENCE_S = 10.0

CONFIGURATION = """\
[databases]
* = host=127.0.0.1 port={server}

[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
pool_mode = transaction
default_pool_size = 4
auth_type = scram-sha-256
auth_file = {folder}/users.txt
logfile = {folder}/pgbouncer.log
"""


@dataclass
class Pooler:
    """A PgBouncer that runs. Its log is not ours, and no password is in it."""

    folder: Path
    port: int
    database: str
    passwords: Mapping[str, str] = field(repr=False)
    _process: subprocess.Popen[bytes] | None = None

    def dsn(self, role: str) -> str:
        """The address of the database through the pooler."""
        password = quote(self.passwords[role], safe="")
        return f"postgresql://{role}:{password}@127.0.0.1:{self.port}/{self.database}"

    def start(self) -> None:
        """Start it and wait until it listens."""
        owner = _account()
        self._process = subprocess.Popen(
            [tool("pgbouncer"), "--quiet", str(self.folder / "pgbouncer.ini")],
            stderr=subprocess.DEVNULL,
            user=owner,
            group=owner,
            extra_groups=() if owner else None,
        )
        deadline = time.monotonic() + PATIENCE_S
        while not self._listens():
            assert self._process.poll() is None, (self.folder / "pgbouncer.log").read_text()
            assert time.monotonic() < deadline, "it does not listen"
            time.sleep(0.01)

    def stop(self) -> None:
        """End it at once: every connection through it breaks."""
        if self._process is not None:
            self._process.terminate()
            self._process.wait(PATIENCE_S)

    def _listens(self) -> bool:
        try:
            socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
        except OSError:
            return False
        return True


@contextmanager
def temporary_pooler(server: EmbeddedServer, database: str, passwords: Mapping[str, str]) -> Iterator[Pooler]:
    """Have a pooler for the block, before a server that listens on TCP. `passwords`: of roles."""
    tool("pgbouncer")
    with temporary_folder() as folder:
        pooler = Pooler(folder, _free_port(), database, passwords)
        names = {"folder": folder, "port": pooler.port, "server": server.port}
        (folder / "pgbouncer.ini").write_text(CONFIGURATION.format(**names))
        users = "".join(f'"{role}" "{password}"\n' for role, password in passwords.items())
        (folder / "users.txt").write_text(users)
        if owner := _account():
            os.chown(folder, owner, owner)
        pooler.start()
        try:
            yield pooler
        finally:
            pooler.stop()


def _account() -> int | None:
    """Root may not run it: the number that nobody has then does. None: whoever we are."""
    return 65534 if os.geteuid() == 0 else None


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
