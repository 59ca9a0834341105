"""The schema: migrations as files, the roles, and the runner that applies what is missing.

`NNNN_name.sql` files are numbered without a gap, never edited and never removed; there are no down files.
"""

from __future__ import annotations

from tenure_control.migration.file import Migration, MigrationFileError, load_migrations, roles_sql
from tenure_control.migration.history import Applied, HistoryError, pending
from tenure_control.migration.runner import applied_migrations, migrate

__all__ = [
    "Applied",
    "HistoryError",
    "Migration",
    "MigrationFileError",
    "applied_migrations",
    "load_migrations",
    "migrate",
    "pending",
    "roles_sql",
]
