"""The embedded server: as root and as a plain user, in open and closed places, kept and crashed."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tenure.embedded import EmbeddedServer, EmbeddedServerError
from tenure.embedded.binaries import find_binaries, within_reach
from tenure.embedded.launcher import as_account
from tenure.embedded.place import SOCKET_PATH_BYTES
from tests.harness.blocking import BlockingConnection
from tests.harness.fixture import temporary_folder

AS_ROOT = os.geteuid() == 0


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A short, open folder, also for what moves to the temporary space; pytest's own are long and closed."""
    with temporary_folder() as made:
        monkeypatch.setattr(tempfile, "tempdir", str(made))
        yield made


def who(server: EmbeddedServer, role: str = "postgres") -> str:
    return who_at(server.dsn(role))


def who_at(dsn: str) -> str:
    with BlockingConnection(dsn) as connection:
        name: str = connection.value("SELECT current_user")
        return name


def test_it_starts_keeps_its_data_and_stops(folder: Path) -> None:
    server = EmbeddedServer(folder / "pg")
    with server:
        with BlockingConnection(server.dsn()) as connection:
            connection.execute("CREATE ROLE tenure_control LOGIN; CREATE TABLE kept ()")
        assert who(server, "tenure_control") == "tenure_control"
        server.start()
    assert not server.running
    with server, BlockingConnection(server.dsn()) as connection:
        assert connection.value("SELECT to_regclass('kept') IS NOT NULL")


def test_a_crashed_server_comes_back_with_what_was_committed(folder: Path) -> None:
    with EmbeddedServer(folder / "pg") as server:
        with BlockingConnection(server.dsn()) as connection:
            connection.execute("CREATE TABLE kept ()")
        server.crash()
        assert not server.running
        server.start()
        with BlockingConnection(server.dsn()) as connection:
            assert connection.value("SELECT to_regclass('kept') IS NOT NULL")


def test_a_folder_belongs_to_one_process(folder: Path) -> None:
    with EmbeddedServer(folder / "pg", durable=False):
        second = EmbeddedServer(folder / "pg", durable=False)
        with pytest.raises(EmbeddedServerError, match="in use by another process"):
            second.start()


def test_a_server_whose_parent_was_killed_is_replaced(folder: Path) -> None:
    orphaning = (
        "import os, pathlib, sys; from tenure.embedded import EmbeddedServer;"
        "EmbeddedServer(pathlib.Path(sys.argv[1]), durable=False).start(); os.kill(os.getpid(), 9)"
    )
    subprocess.run([sys.executable, "-c", orphaning, str(folder / "pg")], check=False)
    orphan = int((folder / "pg" / "data" / "postmaster.pid").read_text().split()[0])

    with EmbeddedServer(folder / "pg", durable=False) as server:
        assert who(server) == "postgres"
        assert int((server.place.data / "postmaster.pid").read_text().split()[0]) != orphan


def test_a_folder_of_another_version_is_refused(folder: Path) -> None:
    server = EmbeddedServer(folder / "pg", durable=False)
    with server:
        pass
    (folder / "pg" / "data" / "PG_VERSION").write_text("14\n")
    with pytest.raises(EmbeddedServerError, match="belongs to PostgreSQL 14"):
        server.start()


def test_a_role_outside_of_the_map_is_kept_out(folder: Path) -> None:
    with EmbeddedServer(folder / "pg", durable=False, roles=()) as server:
        with BlockingConnection(server.dsn()) as connection:
            connection.execute("CREATE ROLE stranger LOGIN")
        with pytest.raises(Exception, match="authentication failed"):
            who(server, "stranger")


def test_over_tcp_a_password_is_needed(folder: Path) -> None:
    with EmbeddedServer(folder / "pg", durable=False, tcp=True) as server:
        with BlockingConnection(server.dsn()) as connection:
            connection.execute("CREATE ROLE guest LOGIN PASSWORD 'right'")
        assert who_at(server.tcp_dsn("guest", "right")) == "guest"
        with pytest.raises(Exception, match="password authentication failed"):
            who_at(server.tcp_dsn("guest", "wrong"))


def test_a_long_path_moves_the_socket(folder: Path) -> None:
    root = folder / ("l" * 60) / ("o" * 60)
    with EmbeddedServer(root, durable=False) as server:
        assert len(os.fsencode(server.socket_path)) <= SOCKET_PATH_BYTES
        assert who(server) == "postgres"
    assert EmbeddedServer(root, durable=False).dsn() == server.dsn(), "the pointer file is found again"


def test_below_a_closed_folder(folder: Path) -> None:
    closed = folder / "closed"
    closed.mkdir(mode=0o700)
    with EmbeddedServer(closed / "clone" / ".tenure" / "pg", durable=False) as server:
        assert who(server) == "postgres"


def test_below_a_closed_folder_without_namespaces(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tenure.embedded.launcher.shutil.which", lambda _: None)
    root = folder / "closed" / "pg"
    root.parent.mkdir(mode=0o700)
    with EmbeddedServer(root, durable=False) as server:
        assert (server.place.home == root) is not AS_ROOT
        assert who(server) == "postgres"
    assert EmbeddedServer(root, durable=False).place.home == server.place.home


AS_PLAIN_USER = """
import os, pathlib, sys
from tenure.embedded import EmbeddedServer
if os.geteuid() == 0:
    os.setgroups([]), os.setgid(65534), os.setuid(65534)
with EmbeddedServer(pathlib.Path(sys.argv[1]), durable=False) as server:
    print(os.geteuid() != 0, server.place.launcher.owner, server.running)
"""


def test_as_a_plain_user(folder: Path) -> None:
    home = folder / "home"
    home.mkdir()
    binaries = find_binaries()
    if AS_ROOT:
        os.chown(home, 65534, 65534)
        binaries = within_reach(binaries, as_account(), folder)
    done = subprocess.run(
        [sys.executable, "-c", AS_PLAIN_USER, str(home / "pg")],
        env={"PG_BINDIR": str(binaries)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "True None True\n", done.stderr


def test_a_wrong_choice_of_binaries_is_said(folder: Path) -> None:
    with pytest.raises(EmbeddedServerError, match="which holds no postgres and initdb"):
        find_binaries({"PG_BINDIR": str(folder)})
