"""Where the server's files lie.

They lie in the root folder that the caller names, unless the account of the server cannot reach it, or the
path of its socket would be longer than the system allows. Then the cluster, or the socket, lies in a short
folder of the system's temporary space and a pointer file in the root folder says where.
"""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tenure.embedded.launcher import Launcher, as_account, choose_launcher

# The longest name: the port is part of it.
SOCKET_NAME = ".s.PGSQL.65535"

# sockaddr_un holds 108 bytes, the last of them is NUL.
SOCKET_PATH_BYTES = 107


@dataclass(frozen=True)
class Place:
    """The folders of one server and the account that fits them."""

    root: Path
    home: Path
    socket: Path
    launcher: Launcher

    @property
    def data(self) -> Path:
        """The cluster itself."""
        return self.home / "data"

    @property
    def log(self) -> Path:
        """What the server writes to its standard error."""
        return self.root / "postgres.log"


def choose_place(root: Path) -> Place:
    """Make the root folder and decide account, cluster and socket folder."""
    root = root.absolute()
    root.mkdir(parents=True, exist_ok=True)
    _let_through(root)
    launcher, home = choose_launcher(root), root
    if launcher is None:
        launcher, home = as_account(), _elsewhere(root / "moved")
    socket = _socket_folder(root, home)
    launcher.own(socket, 0o711)
    return Place(root, home, socket, launcher)


def _socket_folder(root: Path, home: Path) -> Path:
    near = home / "socket"
    too_long = len(os.fsencode(near / SOCKET_NAME)) > SOCKET_PATH_BYTES
    return _elsewhere(root / "socket-moved") / "socket" if too_long else near


def _elsewhere(pointer: Path) -> Path:
    """The folder that the pointer file names; a new one when it names none that is still ours."""
    if pointer.exists():
        folder = Path(pointer.read_text())
        if folder.is_dir() and folder.owner() == pointer.owner():
            return folder
    folder = Path(tempfile.mkdtemp(prefix="tenure-"))
    _let_through(folder)
    pointer.write_text(str(folder))
    return folder


def _let_through(folder: Path) -> None:
    # The account of the server passes through to the folders that it owns; it can list or change nothing
    # here.
    folder.chmod(0o711 if os.geteuid() == 0 else 0o700)
