"""The roles for people who do not run the command: the same text."""

from __future__ import annotations

from tenure_control.migration import roles_sql
from tests.project.place import ROOT


def test_the_deployed_roles_are_those_of_the_command() -> None:
    assert (ROOT / "deploy" / "postgres" / "roles.sql").read_text() == roles_sql()
