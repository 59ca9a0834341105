"""The exact readiness check: of a migrated database it says nothing, and it names each deviation."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tenure_contracts.privilege import LOGIN_ROLES, Role
from tenure_postgres.readiness import Finding, check_readiness
from tests.harness import ScratchDatabase, open_proxy
from tests.harness.blocking import BlockingConnection
from tests.harness.fixture import MakeDatabase
from tests.harness.template import bare, with_roles


async def look(database: ScratchDatabase, role: Role, dsn: str | None = None) -> tuple[Finding, ...]:
    async with database.open(role, size=1, dsn=dsn) as opened:
        return await check_readiness(opened, role)


@pytest.mark.parametrize("role", LOGIN_ROLES)
async def test_a_migrated_database_is_ready(database: ScratchDatabase, role: Role) -> None:
    assert await look(database, role) == ()


# (role, what somebody changed, what the finding must say); `{database}` is the database of the test.
DEVIATIONS: list[tuple[Role, str, str]] = [
    (
        "tenure_ingress",
        "GRANT SELECT ON tenure.runs TO tenure_ingress",
        "has SELECT on table tenure.runs",
    ),
    (
        "tenure_ingress",
        "GRANT UPDATE (status) ON tenure.runs TO tenure_ingress",
        "has UPDATE (status) on table tenure.runs",
    ),
    (
        "tenure_ingress",
        "GRANT USAGE ON SCHEMA tenure TO PUBLIC",
        "has USAGE on schema tenure",
    ),
    (
        "tenure_ingress",
        "GRANT CREATE ON SCHEMA ingress_api TO tenure_ingress",
        "has CREATE on schema ingress_api",
    ),
    (
        "tenure_ingress",
        "GRANT TEMPORARY ON DATABASE {database} TO PUBLIC",
        "has TEMPORARY on database",
    ),
    (
        "tenure_ingress",
        "GRANT EXECUTE ON FUNCTION tenure.clock() TO PUBLIC",
        "has EXECUTE on function tenure.clock",
    ),
    (
        "tenure_ingress",
        "CREATE SEQUENCE public.more; GRANT USAGE ON SEQUENCE public.more TO tenure_ingress",
        "has USAGE on sequence public.more",
    ),
    (
        "tenure_ingress",
        "REVOKE EXECUTE ON ROUTINE ingress_api.renew_v1 FROM tenure_ingress",
        "lacks EXECUTE on function ingress_api.renew_v1",
    ),
    (
        "tenure_control",
        "GRANT DELETE ON tenure.runs TO tenure_control",
        "has DELETE on table tenure.runs",
    ),
    (
        "tenure_control",
        "GRANT UPDATE ON tenure.runs TO tenure_control",
        "has UPDATE on table tenure.runs",
    ),
    (
        "tenure_control",
        "REVOKE SELECT ON tenure.runs FROM tenure_control",
        "lacks SELECT on table tenure.runs",
    ),
    (
        "tenure_control",
        "REVOKE UPDATE (status, version) ON tenure.runs FROM tenure_control",
        "lacks UPDATE (status, version) on table tenure.runs",
    ),
    (
        "tenure_control",
        "ALTER ROLE tenure_control IN DATABASE {database} SET jit = on",
        "jit is on for tenure_control and must be off",
    ),
]


@pytest.mark.parametrize(("role", "change", "sentence"), DEVIATIONS)
async def test_a_deviation_is_named(
    database: ScratchDatabase, role: Role, change: str, sentence: str
) -> None:
    database.execute(change.format(database=database.name))

    (finding,) = await look(database, role)

    assert finding.kind == "configuration"
    assert sentence in finding.sentence


@pytest.fixture
def member(admin: BlockingConnection) -> Iterator[None]:
    """The ingress role may become the control role; roles are the whole server's, so this is taken back."""
    admin.execute("GRANT tenure_control TO tenure_ingress")
    yield
    admin.execute("REVOKE tenure_control FROM tenure_ingress")


@pytest.mark.usefixtures("member")
async def test_a_membership_is_named(database: ScratchDatabase) -> None:
    sentences = [finding.sentence for finding in await look(database, "tenure_ingress")]
    assert (
        "tenure_ingress is a member of tenure_control: REVOKE tenure_control FROM tenure_ingress" in sentences
    )


async def test_a_newer_ingress_function_is_no_finding(database: ScratchDatabase) -> None:
    database.execute(
        "CREATE FUNCTION ingress_api.renew_v9() RETURNS int LANGUAGE sql AS 'SELECT 1';"
        "GRANT EXECUTE ON FUNCTION ingress_api.renew_v9() TO tenure_ingress"
    )
    assert await look(database, "tenure_ingress") == ()


async def test_another_role_is_one_finding(database: ScratchDatabase) -> None:
    (finding,) = await look(database, "tenure_ingress", dsn=database.dsn("tenure_control"))
    assert finding == Finding(
        "configuration", "connected as tenure_control: give the address of the role tenure_ingress"
    )


async def test_a_database_without_the_schema_is_one_finding(make_database: MakeDatabase) -> None:
    (finding,) = await look(make_database(with_roles), "tenure_control")
    assert "run `tenure control migrate`" in finding.sentence


async def test_a_read_only_server_is_wrong(database: ScratchDatabase) -> None:
    database.execute(
        f"ALTER ROLE tenure_control IN DATABASE {database.name} SET default_transaction_read_only = on"
    )
    (finding,) = await look(database, "tenure_control")
    assert finding.kind == "configuration"
    assert "read-only" in finding.sentence


async def test_an_unreachable_server_is_unavailable(make_database: MakeDatabase) -> None:
    database = make_database(bare)
    async with open_proxy(database.server.socket_path) as proxy:
        proxy.refuse()
        (finding,) = await look(database, "tenure_control", dsn=proxy.dsn(database.dsn("tenure_control")))
    assert finding.kind == "unavailable"


async def test_a_missing_database_is_a_matter_of_configuration(database: ScratchDatabase) -> None:
    (finding,) = await look(
        database, "tenure_control", dsn=database.server.dsn("tenure_control", "not_there")
    )
    assert finding.kind == "configuration"
    assert "not_there" in finding.sentence
