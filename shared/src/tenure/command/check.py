"""What the `check` commands share: effective settings, and what keeps a process from starting."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping, Sequence
from typing import Any

from tenure import output
from tenure.exit import CONFIGURATION, TEMPORARY, Stop
from tenure_contracts.privilege import Role
from tenure_postgres.database import open_database
from tenure_postgres.readiness import Finding, check_readiness

_PASSWORD = re.compile(r"(?<=://)([^:/@]*):[^@]*(?=@)")


async def find(addresses: Mapping[Role, str]) -> list[Finding]:
    """Everything that would keep a process from starting on these databases, one per role."""
    findings: list[Finding] = []
    for role, address in addresses.items():
        async with open_database(address, size=1, name=f"tenure check {role}") as database:
            findings += await check_readiness(database, role)
    return findings


def settings_rows(settings: Any, prefix: str, environ: Mapping[str, str]) -> list[dict[str, str]]:
    """Each setting with its value and where it came from; passwords are left out."""
    given = {name.removeprefix(prefix).lower() for name in environ if name.startswith(prefix)}
    return [
        {
            "setting": field.name,
            "value": _PASSWORD.sub(r"\1", str(getattr(settings, field.name))),
            "from": "environment" if field.name.removesuffix("_s") in given else "default",
        }
        for field in dataclasses.fields(settings)
    ]


def conclude(rows: Sequence[Mapping[str, str]], findings: Sequence[Finding]) -> None:
    """Print both. Raises Stop (78, or 75 when all of it may pass by itself) when there is anything to say."""
    output.show_table(("setting", "value", "from"), rows)
    if not findings:
        output.say("\nready: nothing stands in the way")
        return
    only_temporary = all(finding.kind == "unavailable" for finding in findings)
    sentences = "\n  ".join(finding.sentence for finding in findings)
    raise Stop(f"not ready:\n  {sentences}", TEMPORARY if only_temporary else CONFIGURATION)
