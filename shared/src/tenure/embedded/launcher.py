"""Under which account PostgreSQL runs.

`initdb` and `postgres` refuse to run as root. A plain user runs them as himself. Root runs them as the
account `postgres`, else `nobody`; and where that account cannot reach the folder (a clone below a folder of
mode 0700), inside a user namespace, in which root is seen under the account's number while the files stay
root's own.
"""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from tenure.embedded.error import EmbeddedServerError

SERVICE_ACCOUNTS = ("postgres", "nobody")

# PostgreSQL must not see the caller's locale, time zone or PG* variables.
ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LC_ALL": "C", "TZ": "UTC"}


@dataclass(frozen=True)
class Launcher:
    """How PostgreSQL's programs are started.

    `client` is the name under which peer authentication sees the calling process; `owner` is the user and
    group who run the server and own its folders, or None when the caller's own are right.
    """

    client: str
    owner: tuple[int, int] | None = None
    prefix: tuple[str, ...] = ()

    @property
    def _user(self) -> int | None:
        return self.owner[0] if self.owner else None

    @property
    def _group(self) -> int | None:
        return self.owner[1] if self.owner else None

    @property
    def _more_groups(self) -> tuple[int, ...] | None:
        # Root's own supplementary groups must not go along.
        return () if self.owner else None

    def run(self, *command: str | Path) -> subprocess.CompletedProcess[str]:
        """Run a program to its end, at most two minutes, and return its code and output."""
        return subprocess.run(
            [*self.prefix, *command],
            cwd="/",
            env=ENVIRONMENT,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
            user=self._user,
            group=self._group,
            extra_groups=self._more_groups,
        )

    def spawn(self, command: Sequence[str | Path], log: IO[bytes]) -> subprocess.Popen[bytes]:
        """Start a program as a direct child in a session of its own, so that a Ctrl-C does not reach it."""
        return subprocess.Popen(
            [*self.prefix, *command],
            cwd="/",
            env=ENVIRONMENT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=log,
            start_new_session=True,
            user=self._user,
            group=self._group,
            extra_groups=self._more_groups,
        )

    def can_run(self, program: Path) -> bool:
        """Whether the program starts under this account, asked by running it."""
        try:
            return self.run(program, "--version").returncode == 0
        except OSError:
            return False

    def can_enter(self, folder: Path) -> bool:
        """Whether this account reaches the folder, asked by going there."""
        try:
            return self.run("/bin/sh", "-c", 'cd -- "$1"', "sh", folder).returncode == 0
        except OSError:
            return False

    def own(self, folder: Path, mode: int) -> None:
        """Make the folder, with this mode, and give it to the account of the server."""
        folder.mkdir(exist_ok=True)
        if self.owner:
            os.chown(folder, *self.owner)
        folder.chmod(mode)


def choose_launcher(folder: Path) -> Launcher | None:
    """The account for a server whose files lie in `folder`; None when no account reaches it."""
    if os.geteuid() != 0:
        return as_myself()
    candidates = (as_account(), in_namespace())
    return next((each for each in candidates if each and each.can_enter(folder)), None)


def as_myself() -> Launcher:
    """A plain user runs the server under his own name."""
    try:
        return Launcher(client=pwd.getpwuid(os.geteuid()).pw_name)
    except KeyError:
        raise EmbeddedServerError(
            f"user {os.geteuid()} has no entry in /etc/passwd, and PostgreSQL needs one; "
            "run as a named user, or give an external server by its address"
        ) from None


def as_account() -> Launcher:
    """Root runs the server under an account without rights."""
    account = service_account()
    owner = (account.pw_uid, account.pw_gid)
    return Launcher(client=pwd.getpwuid(0).pw_name, owner=owner)


def in_namespace() -> Launcher | None:
    """Root runs the server in a user namespace: no rights over the system, but its own files within reach.

    Peer authentication inside sees root under the name of the account. Every other user appears there as
    `nobody`, which is why the account `postgres` is the better one to have; the closed folder keeps them out.
    """
    unshare = shutil.which("unshare")
    if unshare is None:
        return None
    account = service_account()
    prefix = (unshare, "--user", f"--map-user={account.pw_uid}", "--")
    return Launcher(client=account.pw_name, prefix=prefix)


def service_account() -> pwd.struct_passwd:
    """The account that root lends to the server."""
    for name in SERVICE_ACCOUNTS:
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    raise EmbeddedServerError(
        "PostgreSQL refuses to run as root and there is no user postgres or nobody to run it"
    )
