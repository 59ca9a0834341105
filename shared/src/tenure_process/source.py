"""Where settings come from: flags, then the environment, then one TOML file.

Everything is brought to the names of the environment. In the file the words between the underscores are
tables and keys, as far as it pleases: `TENURE_INGRESS_LIMIT_HEADERS` is

    [ingress.limit]
    headers = 64

so that one file serves control and ingress alike.
"""

from __future__ import annotations

import os
import re
import stat
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

FILE: Final = "TENURE_SETTINGS"
"""The name that leads to the file."""

TABLES: Final = frozenset({"control", "ingress", "operator"})
"""What a file may be about; inside of a table each process refuses what it does not know of its own."""

_PASSWORD: Final = re.compile(r"://[^/@]*:[^/@]+@|[?&]password=")


class SettingsError(Exception):
    """Settings that cannot be meant. The text names each setting, what was read, and what would be right."""


class Sources(Mapping[str, str]):
    """What a process is told, name by name: the first layer that has a name wins.

    `layers` are named by what a person calls them, the strongest first. An empty text counts as absent.
    """

    def __init__(self, layers: Mapping[str, Mapping[str, str]]) -> None:
        self._found: dict[str, tuple[str, str]] = {
            name: (text, called)
            for called, layer in reversed(list(layers.items()))
            for name, text in layer.items()
            if text
        }

    def __getitem__(self, name: str) -> str:
        return self._found[name][0]

    def __iter__(self) -> Iterator[str]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)

    def origin(self, name: str) -> str:
        """What the layer is called that says it. Raises KeyError when none does."""
        return self._found[name][1]


def gather(
    environ: Mapping[str, str], flags: Mapping[str, str], more: Mapping[str, Mapping[str, str]] | None = None
) -> Sources:
    """The sources of a process; `more` are further layers, weaker than the file.

    Raises SettingsError when there is a file and it cannot be used.
    """
    path = flags.get(FILE) or environ.get(FILE)
    file = {path: read_file(Path(path))} if path else {}
    return Sources({"flag": flags, "environment": environ, **file, **(more or {})})


def read_file(path: Path) -> dict[str, str]:
    """The settings of a TOML file, by their names in the environment.

    Refused are a file that others can change, because it decides which database is believed, and one with a
    password that everybody on the machine can read.

    Raises SettingsError naming the file and what is wrong with it.
    """
    try:
        with path.open("rb") as file:
            status = os.fstat(file.fileno())
            found = dict(_flat(tomllib.load(file), ()))
    except (OSError, ValueError) as error:
        raise SettingsError(f"{path} cannot be used: {error}") from error
    mode = status.st_mode
    if status.st_uid not in (0, os.geteuid()):
        raise SettingsError(
            f"{path} can be changed by its owner: give it to root or to the user of this process"
        )
    if mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise SettingsError(f"{path} can be changed by others: chmod go-w {path}")
    if mode & stat.S_IROTH and any(map(_PASSWORD.search, found.values())):
        raise SettingsError(f"{path} has a password and can be read by everybody: chmod o-r {path}")
    return found


def _flat(table: Mapping[str, Any], above: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    for key, value in table.items():
        words = (*above, key)
        if words[0] not in TABLES:
            raise ValueError(f"{key} is none of its tables: {', '.join(sorted(TABLES))}")
        if isinstance(value, dict):
            yield from _flat(value, words)
        else:
            yield f"TENURE_{'_'.join(words)}".upper(), _text(words, value)


def _text(words: tuple[str, ...], value: object) -> str:
    match value:
        case bool():
            return "yes" if value else "no"
        case str() | int():
            return str(value)
        case _:
            raise ValueError(f"{'.'.join(words)} must be a text, a whole number, true or false")
