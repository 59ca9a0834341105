"""The schema as one file, as pg_dump writes it. `make schema` rewrites the committed one."""

from __future__ import annotations

import re
import subprocess
import tempfile
from pathlib import Path

import tenure_control.migration
from tenure.embedded import EmbeddedServer
from tenure.embedded.binaries import find_binaries
from tests.harness.blocking import BlockingConnection
from tests.harness.template import prepare_template

COMMITTED = Path(tenure_control.migration.__file__).with_name("schema.sql")

HEADING = """\
-- The schema that the migrations make, for reading. `make schema` writes this file; a test compares it.

"""

# The dump's own version and, since PostgreSQL 17.6, a token of chance that guards its meta-commands.
_NOISE = re.compile(
    r"^(-- Dumped .*|\\(un)?restrict .*|SET .*;|SELECT pg_catalog\.set_config.*)\n", re.MULTILINE
)


def dump_schema(server: EmbeddedServer, database: str) -> str:
    """The schema of a database, without what differs from one dump to the next."""
    command = [str(find_binaries() / "pg_dump"), "--schema-only", server.dsn(database=database)]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    without_noise = _NOISE.sub("", text)
    return HEADING + re.sub(r"\n{3,}", "\n\n", without_noise).strip() + "\n"


def main() -> None:
    """Write the committed file anew."""
    with (
        tempfile.TemporaryDirectory(prefix="tenure-") as root,
        EmbeddedServer(Path(root), durable=False) as server,
    ):
        with BlockingConnection(server.dsn()) as connection:
            connection.execute("CREATE DATABASE dump")
        prepare_template(server, "dump")
        COMMITTED.write_text(dump_schema(server, "dump"), encoding="utf-8")


if __name__ == "__main__":
    main()
