"""The harness gives every test a database of its own, and moves its clock."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.harness import ScratchDatabase
from tests.harness.fixture import MakeDatabase

ROLES = ("tenure_control", "tenure_operator", "tenure_ingress")


def test_a_copy_is_migrated(database: ScratchDatabase) -> None:
    assert database.value("SELECT count(*) FROM tenure.schema_migrations") > 0


def test_copies_do_not_see_each_other(make_database: MakeDatabase) -> None:
    one, other = make_database(), make_database()

    one.execute("CREATE TABLE mark ()")

    assert other.value("SELECT to_regclass('mark')") is None


@pytest.mark.parametrize("role", ROLES)
async def test_a_copy_keeps_the_settings_of_the_roles(database: ScratchDatabase, role: str) -> None:
    async with database.session(role) as session:
        assert await session.value("SHOW plan_cache_mode") == "force_generic_plan"
        assert await session.value("SHOW statement_timeout") == "5s"


def test_a_copy_keeps_the_rights_of_the_database(database: ScratchDatabase) -> None:
    may = "SELECT has_database_privilege('tenure_ingress', current_database(), $1)"

    assert database.value(may, "CONNECT")
    assert not database.value(may, "TEMPORARY")


async def test_a_shift_moves_the_clock_of_open_sessions(database: ScratchDatabase) -> None:
    look = "SELECT tenure.clock() - clock_timestamp()"
    async with database.session("tenure_control") as session:
        assert abs(await session.value(look)) < timedelta(seconds=5)

        database.shift(timedelta(hours=2))
        database.shift(timedelta(minutes=-30))

        assert abs(await session.value(look) - timedelta(hours=1.5)) < timedelta(seconds=5)


async def test_a_shift_reaches_functions_that_were_planned_before(database: ScratchDatabase) -> None:
    database.execute(
        "CREATE FUNCTION late() RETURNS interval LANGUAGE plpgsql AS "
        "$$ DECLARE now timestamptz := tenure.clock(); BEGIN RETURN now - clock_timestamp(); END $$"
    )
    async with database.session() as session:
        await session.value("SELECT late()")
        database.shift(timedelta(days=1))
        assert await session.value("SELECT late()") > timedelta(hours=23)
