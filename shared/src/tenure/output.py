"""What commands print: the API's answer as JSON, or a table for people."""

from __future__ import annotations

import json
import re
import shutil
import sys
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

GAP: Final = "  "

WRAP_COLUMNS: Final = 20
"""A last column narrower than this is not wrapped: it would be unreadable."""

_INSTANT: Final = re.compile(r"(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d\.\d{3})\d*Z")


def say(text: str = "") -> None:
    """One line on standard output, at once."""
    print(text, flush=True)  # noqa: T201 - the command line speaks


def complain(text: str) -> None:
    """One line on standard error."""
    print(text, file=sys.stderr, flush=True)  # noqa: T201 - the command line speaks


def show_json(value: object) -> None:
    """The API's answer as it is."""
    say(json.dumps(value, indent=2, ensure_ascii=False))


def show_table(columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> None:
    """A table with a heading per column; a missing or null value is a dash.

    No cell is ever cut or broken, so that an identifier can be copied, except that the last column is wrapped
    to the width of a terminal.
    """
    table = [[column.replace("_", " ") for column in columns]]
    table += [[cell(row.get(column)) for column in columns] for row in rows]
    say("\n".join(_lines(table, _terminal_columns())))


def show_fields(value: Mapping[str, Any]) -> None:
    """One object, a field per line; what is null or empty text is left out."""
    told = {name.replace("_", " "): field for name, field in value.items() if field not in (None, "")}
    width = max(map(len, told), default=0)
    for name, field in told.items():
        text = json.dumps(field, ensure_ascii=False) if name in ("input", "output") else cell(field)
        say(f"{name:<{width}}{GAP}{text}")


def cell(value: object) -> str:
    """A value as people read it: times to the millisecond in UTC, mappings as `name=value`."""
    if isinstance(value, str) and value:
        return _INSTANT.sub(r"\1 \2Z", " ".join(value.split())) or "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping) and value:
        return " ".join(f"{name}={cell(item)}" for name, item in value.items())
    if isinstance(value, list) and value:
        return ", ".join(map(cell, value))
    return str(value) if isinstance(value, int | float) else "-"


def _lines(table: list[list[str]], terminal: int | None) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(*table, strict=True)][:-1]
    before = sum(widths) + len(GAP) * len(widths)
    room = 0 if terminal is None else terminal - before
    for *cells, last in table:
        begin = GAP.join([*(f"{text:<{width}}" for text, width in zip(cells, widths, strict=True)), ""])
        wrapped = textwrap.wrap(last, room) if room >= WRAP_COLUMNS else [last]
        yield (begin + wrapped[0]).rstrip()
        yield from (" " * before + line for line in wrapped[1:])


def _terminal_columns() -> int | None:
    """How wide the terminal is; None when standard output is none, and a program may read it."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None
