"""What the `check` commands share: effective settings, and what keeps a process from starting."""

from __future__ import annotations

import dataclasses
import os
import re
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from tenure import output, where
from tenure.exit import Stop
from tenure_contracts.privilege import Role
from tenure_http import Limits
from tenure_http.tls import TlsError, TlsMaterial
from tenure_postgres.database import Database, open_database
from tenure_postgres.readiness import Finding
from tenure_process.exit import ExitCode
from tenure_process.limits import limit_name
from tenure_process.settings import SettingsError
from tenure_process.source import Sources, gather

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


def sources(flags: Mapping[str, str]) -> Sources:
    """What a check looks at: what a process would, and for what is not there the stack of this folder.

    Raises Stop (78) when a file of settings cannot be used.
    """
    try:
        return gather(os.environ, flags, {str(where.ENV_FILE): where.from_file()})
    except SettingsError as error:
        raise Stop(str(error), ExitCode.CONFIGURATION) from error


def settings_rows(settings: Any, prefix: str, given: Sources) -> list[dict[str, str]]:
    """Each setting by its name in the environment, its value and where that came from, without passwords."""
    return [
        row for field in dataclasses.fields(settings) for row in _rows(settings, field.name, prefix, given)
    ]


def _rows(settings: Any, name: str, prefix: str, given: Sources) -> Iterator[dict[str, str]]:
    value = getattr(settings, name)
    if isinstance(value, Limits):
        for field in dataclasses.fields(value):
            yield _row(limit_name(field.name), getattr(value, field.name), prefix, given, field.name)
    elif name == "tls":
        for field in dataclasses.fields(TlsMaterial):
            yield _row(f"tls_{field.name}", getattr(value, field.name, None), prefix, given)
    else:
        yield _row(name, value, prefix, given)


def _row(name: str, value: object, prefix: str, given: Sources, unit: str = "") -> dict[str, str]:
    seconds = (unit or name).endswith("_s")
    word = name.removesuffix("_s").upper()
    own, shared = f"{prefix}{word}", f"TENURE_{word}"
    # The address of the operators' role has no process in its name. TENURE_DATABASE_URL is no setting of a
    # process, but the environment of a development stack has it beside those that are.
    full = shared if own not in given and shared in given else own
    return {
        "setting": full,
        "value": f"{value:g} s" if seconds else without_password(output.cell(_plain(value))),
        "from": given.origin(full) if full in given else "default",
    }


def _plain(value: object) -> object:
    return value if value is None or isinstance(value, bool | int) else str(value)


def without_password(address: str) -> str:
    """An address as it may be shown."""
    return _QUERY_PASSWORD.sub(r"\1…", _PASSWORD.sub(r"\1", address))


def tls_findings(material: TlsMaterial | None) -> tuple[Finding, ...]:
    """What keeps a listener from speaking TLS."""
    try:
        if material is not None:
            material.context()
    except TlsError as error:
        return (Finding("configuration", str(error)),)
    return ()


def conclude(rows: Sequence[Mapping[str, str]], findings: Sequence[Finding]) -> None:
    """Print both. Raises Stop (78, or 75 when all of it may pass by itself) when there is anything to say."""
    output.show_table(("setting", "value", "from"), rows)
    if not findings:
        output.say("\nready: nothing stands in the way")
        return
    only_temporary = all(finding.kind == "unavailable" for finding in findings)
    sentences = "\n  ".join(dict.fromkeys(finding.sentence for finding in findings))
    raise Stop(f"not ready:\n  {sentences}", ExitCode.TEMPORARY if only_temporary else ExitCode.CONFIGURATION)
