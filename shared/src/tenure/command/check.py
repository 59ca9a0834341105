"""What the `check` commands share: effective settings, and what keeps a process from starting."""

from __future__ import annotations

import dataclasses
import os
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from tenure import output, where
from tenure.exit import Stop
from tenure_contracts.privilege import Role
from tenure_postgres.database import Database, open_database
from tenure_postgres.readiness import Finding
from tenure_process.exit import ExitCode

_PASSWORD = re.compile(r"(?<=://)([^:/@]*):[^@]*(?=@)")
_QUERY_PASSWORD = re.compile(r"([?&]password=)[^&]*")


@asynccontextmanager
async def opened(addresses: Mapping[Role, str]) -> AsyncIterator[dict[Role, Database]]:
    """The databases of a process, one per role, for the block; each is reached when it is asked first."""
    async with AsyncExitStack() as stack:
        yield {
            role: await stack.enter_async_context(open_database(address, size=1, name=f"tenure check {role}"))
            for role, address in addresses.items()
        }


def environment() -> dict[str, str]:
    """What a check looks at: the environment, and for what is not there the stack of this folder."""
    return {**where.from_file(), **os.environ}


def settings_rows(settings: Any, prefix: str, environ: Mapping[str, str]) -> list[dict[str, str]]:
    """Each setting by its name in the environment, its value and where that came from, without passwords."""
    return [_setting(settings, field.name, prefix, environ) for field in dataclasses.fields(settings)]


def _setting(settings: Any, name: str, prefix: str, environ: Mapping[str, str]) -> dict[str, str]:
    seconds = name.endswith("_s")
    word = name.removesuffix("_s").upper()
    # One address that two processes share has no process in its name.
    full = f"TENURE_{word}" if f"TENURE_{word}" in environ else f"{prefix}{word}"
    value = getattr(settings, name)
    given = [each for each in environ if each == full or each.startswith(f"{full}_")]
    from_file = given and not any(each in os.environ for each in given)
    return {
        "setting": full,
        "value": f"{value:g} s" if seconds else without_password(output.cell(_plain(value))),
        "from": str(where.ENV_FILE) if from_file else "environment" if given else "default",
    }


def _plain(value: object) -> object:
    return value if value is None or isinstance(value, bool | int) else str(value)


def without_password(address: str) -> str:
    """An address as it may be shown."""
    return _QUERY_PASSWORD.sub(r"\1…", _PASSWORD.sub(r"\1", address))


def conclude(rows: Sequence[Mapping[str, str]], findings: Sequence[Finding]) -> None:
    """Print both. Raises Stop (78, or 75 when all of it may pass by itself) when there is anything to say."""
    output.show_table(("setting", "value", "from"), rows)
    if not findings:
        output.say("\nready: nothing stands in the way")
        return
    only_temporary = all(finding.kind == "unavailable" for finding in findings)
    sentences = "\n  ".join(dict.fromkeys(finding.sentence for finding in findings))
    raise Stop(f"not ready:\n  {sentences}", ExitCode.TEMPORARY if only_temporary else ExitCode.CONFIGURATION)
