"""What the holder of the ingress's database password can do: call functions that want a proof, no more."""

from __future__ import annotations

import asyncpg

from tests.harness import ScratchDatabase, Session

DENIED = (asyncpg.InsufficientPrivilegeError, asyncpg.InvalidSchemaNameError)


async def denied(session: Session, sql: str) -> bool:
    """Whether a statement is refused for want of a privilege. Nothing stays of one that is not."""
    await session.execute("BEGIN")
    try:
        await session.execute(sql)
    except DENIED:
        return True
    finally:
        await session.execute("ROLLBACK")  # noqa: ASYNC102 - cancelled, the session goes with the test
    return False


async def test_no_table_can_be_read_or_written(database: ScratchDatabase) -> None:
    tables = database.rows(
        "SELECT quote_ident(table_schema) || '.' || quote_ident(table_name) AS name, ("
        "  SELECT column_name FROM information_schema.columns c"
        "  WHERE (c.table_schema, c.table_name) = (t.table_schema, t.table_name) LIMIT 1) AS some_column"
        " FROM information_schema.tables t WHERE table_schema IN ('tenure', 'ingress_api', 'public')"
    )
    assert len(tables) > 15
    async with database.session("tenure_ingress") as session:
        for name, column in tables:
            for sql in (
                f"SELECT FROM {name}",
                f"SELECT {column} FROM {name}",
                f"INSERT INTO {name} DEFAULT VALUES",
                f"UPDATE {name} SET {column} = {column}",
                f"DELETE FROM {name}",
                f"TRUNCATE {name}",
                f"LOCK TABLE {name} IN ACCESS SHARE MODE",
            ):
                assert await denied(session, sql), sql


CREATIONS = [
    "CREATE TABLE tenure.mine (id int)",
    "CREATE TABLE ingress_api.mine (id int)",
    "CREATE TABLE public.mine (id int)",
    "CREATE TEMPORARY TABLE mine (id int)",
    "CREATE SCHEMA mine",
    "CREATE FUNCTION public.mine() RETURNS int LANGUAGE sql AS 'SELECT 1'",
    "CREATE OR REPLACE FUNCTION tenure.clock() RETURNS timestamptz LANGUAGE sql AS 'SELECT now()'",
    "CREATE ROLE mine",
    "CREATE EXTENSION hstore",
    "SET ROLE tenure_owner",
    "SET ROLE tenure_control",
]


INLINED = {
    "tenure.clock()",
    "tenure.fence_refusal(tenure.run_leases,text,uuid,bytea,integer,integer)",
}
"""They have no search_path, for a function with settings is never inlined; those that call them have one."""


async def test_nothing_can_be_created_and_nobody_become(database: ScratchDatabase) -> None:
    async with database.session("tenure_ingress") as session:
        for sql in CREATIONS:
            assert await denied(session, sql), sql


async def test_no_function_but_those_of_the_protocol_can_be_called(database: ScratchDatabase) -> None:
    functions = database.rows(
        "SELECT p.oid::regprocedure::text AS name, pronamespace::regnamespace::text AS schema,"
        " has_function_privilege('tenure_ingress', p.oid, 'EXECUTE') AS granted, prosecdef, proconfig"
        " FROM pg_proc p WHERE pronamespace::regnamespace::text IN ('tenure', 'ingress_api')"
    )
    assert {row["schema"] for row in functions if row["granted"]} == {"ingress_api"}
    for row in functions:
        assert "search_path=pg_catalog, pg_temp" in (row["proconfig"] or []) or row["name"] in INLINED
        assert row["schema"] != "ingress_api" or row["prosecdef"]
    async with database.session("tenure_ingress") as session:
        assert await denied(session, "SELECT tenure.clock()")
