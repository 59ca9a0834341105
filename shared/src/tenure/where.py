"""Where to connect: flags first, then the environment, then `.tenure/env` of this folder or one above it."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from pathlib import Path

from tenure.exit import Stop
from tenure_process.exit import ExitCode

ENV_FILE = Path(".tenure", "env")


def find_env_file(start: Path) -> Path | None:
    """The nearest `.tenure/env` at or above a folder."""
    return next((found for folder in (start, *start.parents) if (found := folder / ENV_FILE).is_file()), None)


def parse_env(text: str) -> dict[str, str]:
    """Read what a shell would: lines `export NAME='value'`. Raises ValueError for a line that is none."""
    values: dict[str, str] = {}
    for line in text.splitlines():
        words = shlex.split(line, comments=True)
        for word in words[words[:1] == ["export"] :]:
            name, equals, value = word.partition("=")
            if not equals:
                raise ValueError(f"{word!r} is not NAME=value")
            values[name] = value
    return values


def format_env(values: Mapping[str, str]) -> str:
    """The text of an env file, in the order given."""
    return "".join(f"export {name}={shlex.quote(value)}\n" for name, value in values.items())


def find(name: str, flag: str | None = None) -> str:
    """The value of one `TENURE_…` setting. Raises Stop (78) that says where it was looked for."""
    if value := flag or os.environ.get(name) or from_file().get(name):
        return value
    raise Stop(
        f"{name} is not set: give it as a flag, in the environment, or start the stack with `tenure dev`, "
        f"which writes {ENV_FILE}",
        ExitCode.CONFIGURATION,
    )


def from_file() -> dict[str, str]:
    """What the nearest env file says, if there is one. Raises Stop (78) for one that cannot be read."""
    file = find_env_file(Path.cwd())
    if file is None:
        return {}
    try:
        return parse_env(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise Stop(f"{file} cannot be used: {error}", ExitCode.CONFIGURATION) from error
