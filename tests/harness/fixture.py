"""The fixtures; `tests/conftest.py` makes them known to every test."""

from __future__ import annotations

import itertools
import os
import shutil
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

import pytest

from tenure.embedded import EmbeddedServer
from tests.harness.blocking import BlockingConnection
from tests.harness.database import ScratchDatabase
from tests.harness.seed import Seed
from tests.harness.template import Prepare, Templates, bare, prepare_template

# Many small pools at once; and a statement whose client is gone ends soon, so that tests can wait for that.
OVERRIDES = {"max_connections": "300", "shared_buffers": "64MB", "client_connection_check_interval": "20ms"}

MEMORY = "/dev/shm"
MEMORY_BYTES = 2 << 30


class MakeDatabase(Protocol):
    """Makes one more database for the running test; it is dropped when the test ends."""

    def __call__(self, prepare: Prepare = prepare_template) -> ScratchDatabase:
        """A copy of the template that `prepare` makes."""
        ...


@contextmanager
def temporary_server(*, durable: bool = False, tcp: bool = False) -> Iterator[EmbeddedServer]:
    """A server of one's own, for a test that crashes or stops it. Starting one costs about a second."""
    with temporary_folder() as root:
        server = EmbeddedServer(root, durable=durable, tcp=tcp, overrides=OVERRIDES)
        try:
            with server:
                yield server
        finally:
            shutil.rmtree(server.place.home, ignore_errors=True)


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """A folder with a short path that other accounts may pass through, in memory when there is room."""
    folder = Path(tempfile.mkdtemp(prefix="tenure-", dir=_memory()))
    folder.chmod(0o711)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _memory() -> str | None:
    """The folder in memory, when there is room: a copied database is 300 files, 20 ms instead of 300."""
    try:
        found = os.statvfs(MEMORY)
    except OSError:
        return None
    room = found.f_bavail * found.f_frsize >= MEMORY_BYTES
    # A container may forbid programs there, and the server's may have to be copied below its folder.
    return MEMORY if room and not found.f_flag & os.ST_NOEXEC else None


@pytest.fixture(scope="session")
def server() -> Iterator[EmbeddedServer]:
    """The PostgreSQL server of this test session, without durability."""
    with temporary_server() as running:
        yield running


@pytest.fixture(scope="session")
def admin(server: EmbeddedServer) -> Iterator[BlockingConnection]:
    """The administrator of the server, connected to its database `postgres`."""
    with BlockingConnection(server.dsn()) as connection:
        yield connection


@pytest.fixture(scope="session")
def templates(server: EmbeddedServer, admin: BlockingConnection) -> Templates:
    """The template databases of the session."""
    return Templates(server, admin)


@pytest.fixture(scope="session")
def dropper(server: EmbeddedServer) -> Iterator[ThreadPoolExecutor]:
    """Drops databases behind the tests' back: nobody needs to wait for that."""
    with ThreadPoolExecutor(1) as thread:
        yield thread


_numbers = itertools.count(1)


@pytest.fixture
def make_database(
    server: EmbeddedServer, templates: Templates, dropper: ThreadPoolExecutor
) -> Iterator[MakeDatabase]:
    """Makes databases for this test: `make_database()` migrated, `make_database(bare)` empty."""
    made: list[ScratchDatabase] = []

    def make(prepare: Prepare = prepare_template) -> ScratchDatabase:
        name = f"test_{next(_numbers)}"
        templates.copy(prepare, name)
        made.append(ScratchDatabase(server, name))
        return made[-1]

    yield make
    for database in made:
        database.close()
        dropper.submit(_drop, server, database.name)


def _drop(server: EmbeddedServer, name: str) -> None:
    with BlockingConnection(server.dsn()) as connection:
        connection.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


@pytest.fixture
def database(make_database: MakeDatabase) -> ScratchDatabase:
    """A migrated database of this test's own."""
    return make_database()


@pytest.fixture
def empty_database(make_database: MakeDatabase) -> ScratchDatabase:
    """An empty database of this test's own: no roles, no schema."""
    return make_database(bare)


@pytest.fixture
def seed(database: ScratchDatabase) -> Seed:
    """Seeds this test's database; the task `report` exists."""
    seed = Seed(database)
    seed.task("report")
    return seed
