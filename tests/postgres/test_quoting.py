"""What the driver quotes of rows and parameters goes no further: not as a text, not as a cause in a log."""

from __future__ import annotations

import traceback

import pytest

from tenure_postgres.connection import EXAMPLE
from tenure_postgres.database import Connection, open_database
from tenure_postgres.error import Conflict, DatabaseError, DataFault, Misconfigured
from tests.harness import ScratchDatabase

SECRET = "A" * 43

STATEMENTS: dict[str, tuple[str, tuple[object, ...], type[DatabaseError]]] = {
    "a key that is there": ("INSERT INTO kept VALUES ($1)", (SECRET,), Conflict),
    "a row that a check refuses": ("INSERT INTO kept VALUES ($1, -1)", (SECRET,), Conflict),
    "a parameter of another type": ("SELECT $1::int", (SECRET,), DataFault),
    "an array with one": ("SELECT $1::int[]", ([SECRET],), DataFault),
    "a text that is no JSON": ("SELECT $1::text::jsonb", (SECRET,), DataFault),
}


@pytest.mark.parametrize("name", STATEMENTS)
async def test_an_error_quotes_nothing(empty_database: ScratchDatabase, name: str) -> None:
    empty_database.execute("CREATE TABLE kept (secret text PRIMARY KEY, amount int CHECK (amount > 0))")
    empty_database.execute("INSERT INTO kept VALUES ($1, 1)", SECRET)
    statement, arguments, kind = STATEMENTS[name]

    async def unit(connection: Connection) -> None:
        await connection.execute(statement, *arguments)

    async with empty_database.open("postgres") as opened:
        with pytest.raises(kind) as caught:
            await opened.transact(unit)
    told = "".join(traceback.format_exception(caught.value))
    assert caught.value.__cause__ is not None
    assert SECRET[:20] not in told


@pytest.mark.parametrize("address", ["postgresql://a:pa/ss:wo@host/db", "postgresql://a:[password@host/db"])
async def test_an_address_that_cannot_be_read_is_not_quoted(address: str) -> None:
    async with open_database(address, size=1, name="test") as opened:
        with pytest.raises(Misconfigured, match="the address cannot be read") as caught:
            await opened.fetch(nothing)
    told = "".join(traceback.format_exception(caught.value))
    assert "ValueError" not in told
    assert str(caught.value).endswith(EXAMPLE)


async def nothing(connection: Connection) -> None:
    """A unit that is never run."""
