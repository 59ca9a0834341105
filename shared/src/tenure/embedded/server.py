"""The server process: started, stopped and crashed."""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import IO, Self
from urllib.parse import quote, urlencode

from tenure.embedded.binaries import find_binaries, major_version, within_reach
from tenure.embedded.cluster import SUPERUSER, ensure_cluster, settings, write_access
from tenure.embedded.error import EmbeddedServerError
from tenure.embedded.place import choose_place

LOGIN_ROLES = ("tenure_migrate", "tenure_control", "tenure_operator", "tenure_ingress")

# A killed postmaster's children need a moment to notice; until then the old shared memory blocks a new start.
PREDECESSOR_ALIVE = b"pre-existing shared memory block"


class EmbeddedServer:
    """One PostgreSQL server whose files lie below `root`, for the use of the calling account only.

    Everything is synchronous. One process at a time owns a root folder. The server is a child of this
    process and is *not* ended by this object's going away: call `stop`, or use the object as a context
    manager. A server whose parent was killed is stopped by the next `start` on the same root.

    Args:
        root: the folder of the server; made when missing. `.tenure/pg`, or a temporary one in tests.
        durable: True keeps every promise of PostgreSQL. False gives them up for speed, in tests.
        roles: who the calling account may log in as, besides the administrator `postgres`.
        tcp: also listen on 127.0.0.1, on a free port, for roles that were given a password. For fault
            tests that need TCP; the Unix socket needs neither port nor password.
        overrides: further settings of PostgreSQL, which win over ours.
    """

    def __init__(
        self,
        root: Path,
        *,
        durable: bool = True,
        roles: Iterable[str] = LOGIN_ROLES,
        tcp: bool = False,
        overrides: Mapping[str, str] | None = None,
    ) -> None:
        self.place = choose_place(root)
        self.port = _free_port() if tcp else 5432
        self._durable = durable
        self._roles = (SUPERUSER, *roles)
        self._tcp = tcp
        self._overrides = dict(overrides or {})
        self._process: subprocess.Popen[bytes] | None = None
        self._lock: IO[bytes] | None = None

    def dsn(self, user: str = SUPERUSER, database: str = "postgres") -> str:
        """The address for a role and a database, through the Unix socket."""
        where = urlencode({"host": str(self.place.socket), "port": self.port})
        return f"postgresql://{quote(user)}@/{quote(database)}?{where}"

    def tcp_dsn(self, user: str, password: str, database: str = "postgres") -> str:
        """The address over TCP of a role that was given this password. Only with `tcp=True`."""
        assert self._tcp, "this server does not listen on TCP"
        return (
            f"postgresql://{quote(user)}:{quote(password, safe='')}@127.0.0.1:{self.port}/{quote(database)}"
        )

    @property
    def socket_path(self) -> Path:
        """The Unix socket itself, for a proxy to connect to."""
        return self.place.socket / f".s.PGSQL.{self.port}"

    @property
    def running(self) -> bool:
        """Whether the process is there; it may still be shutting down."""
        return self._process is not None and self._process.poll() is None

    def start(self, timeout_s: float = 30) -> None:
        """Make the cluster when it is missing, start the server and return when it accepts connections.

        Raises EmbeddedServerError, with the end of the server's log, when it does not come up in time.
        Does nothing when the server is running.
        """
        if self.running:
            return
        self._take_lock()
        try:
            self._launch(timeout_s)
        except BaseException:
            self._kill()
            self._release_lock()
            raise

    def stop(self, timeout_s: float = 30) -> None:
        """End sessions, write everything down and exit; cut short when that takes longer than `timeout_s`.

        Does nothing when the server is not running.
        """
        if self._process is not None:
            self._process.send_signal(signal.SIGINT)  # "fast": does not wait for clients to leave
            try:
                self._process.wait(timeout_s)
            except subprocess.TimeoutExpired:
                self._kill()
        self._process = None
        self._release_lock()

    def crash(self) -> None:
        """Kill the server without warning, as a power cut of its process would. `start` recovers it."""
        self._kill()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _launch(self, timeout_s: float) -> None:
        deadline = time.monotonic() + timeout_s
        place = self.place
        binaries = within_reach(find_binaries(), place.launcher, place.home)
        ensure_cluster(place, binaries, major_version(binaries, place.launcher), durable=self._durable)
        write_access(place, self._roles, tcp=self._tcp)
        self._end_orphan(deadline)
        while not self._came_up(binaries, deadline):
            time.sleep(0.02)

    def _came_up(self, binaries: Path, deadline: float) -> bool:
        """Start the process and wait until it is ready; False when a predecessor is still in its way."""
        chosen = settings(self.place, durable=self._durable, port=self.port, tcp=self._tcp) | self._overrides
        options = [f"--{name}={value}" for name, value in chosen.items()]
        self.place.log.touch(mode=0o600)
        with self.place.log.open("ab") as log:
            begin = log.tell()
            command: list[str | Path] = [binaries / "postgres", "-D", self.place.data, *options]
            self._process = self.place.launcher.spawn(command, log)
        while not self._is_ready():
            if self._process.poll() is not None and PREDECESSOR_ALIVE in self._log_since(begin):
                return False
            if self._process.poll() is not None or time.monotonic() > deadline:
                complaint = self._log_since(begin)[-2000:].decode(errors="replace").strip()
                raise EmbeddedServerError(f"PostgreSQL did not come up: {complaint or 'it said nothing'}")
            time.sleep(0.005)
        return True

    def _is_ready(self) -> bool:
        # Line 1 is the process, line 8 its state; see miscadmin.h of PostgreSQL.
        lines = self._pid_file()
        assert self._process is not None
        return len(lines) > 7 and lines[0] == str(self._process.pid) and lines[7].strip() == "ready"

    def _pid_file(self) -> list[str]:
        with contextlib.suppress(OSError):
            return (self.place.data / "postmaster.pid").read_text().splitlines()
        return []

    def _log_since(self, begin: int) -> bytes:
        with self.place.log.open("rb") as log:
            log.seek(begin)
            return log.read()

    def _end_orphan(self, deadline: float) -> None:
        """Stop a server of this folder whose parent was killed: we hold the lock, so nobody else owns it."""
        lines = self._pid_file()
        if not lines or not lines[0].isdecimal():
            return
        pid = int(lines[0])
        while _works_in(pid, self.place.data) and time.monotonic() < deadline:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGINT)
            time.sleep(0.05)

    def _kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def _take_lock(self) -> None:
        if self._lock is not None:
            return
        lock = (self.place.root / "lock").open("ab")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.close()
            raise EmbeddedServerError(
                f"{self.place.root} is in use by another process: stop that one first, or use another folder"
            ) from None
        self._lock = lock

    def _release_lock(self) -> None:
        if self._lock is not None:
            self._lock.close()
            self._lock = None


def _works_in(pid: int, folder: Path) -> bool:
    """Whether the process is a postmaster of this folder: a postmaster works in its data folder."""
    try:
        return Path(f"/proc/{pid}/cwd").resolve(strict=True) == folder.resolve()
    except OSError:
        return False


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
