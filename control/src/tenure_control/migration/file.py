"""Migrations as they lie in the package: numbered, gap-free, each with a checksum."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable

# A file that begins so holds one statement that must run outside a transaction, such as a concurrent index.
OUTSIDE_TRANSACTION = "-- outside a transaction"

_NAME = re.compile(r"(\d{4})_([a-z0-9_]+)\.sql")


class MigrationFileError(Exception):
    """The migration files of this package are not numbered 1, 2, 3 … without a gap."""


@dataclass(frozen=True)
class Migration:
    """One file. `checksum` is the SHA-256 of its bytes."""

    id: int
    name: str
    sql: str
    checksum: bytes

    @property
    def transactional(self) -> bool:
        """Whether the file runs in one transaction with its history row."""
        return not self.sql.startswith(OUTSIDE_TRANSACTION)


def load_migrations() -> tuple[Migration, ...]:
    """Every migration of this package, in order. Raises MigrationFileError over a gap or a double number."""
    named = sorted((file for file in _folder().iterdir() if _NAME.fullmatch(file.name)), key=lambda f: f.name)
    migrations = tuple(_read(file) for file in named)
    for position, migration in enumerate(migrations, start=1):
        if migration.id != position:
            raise MigrationFileError(
                f"{migration.name}: number {position:04} expected, found {migration.id:04}"
            )
    return migrations


def roles_sql() -> str:
    """The statements that make the five roles in one database, for its administrator to run."""
    return (_folder() / "roles.sql").read_text(encoding="utf-8")


def _folder() -> Traversable:
    return files("tenure_control.migration")


def _read(file: Traversable) -> Migration:
    content = file.read_bytes()
    found = _NAME.fullmatch(file.name)
    assert found is not None
    return Migration(
        int(found[1]), file.name.removesuffix(".sql"), content.decode(), hashlib.sha256(content).digest()
    )
