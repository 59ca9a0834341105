"""What commands print: the API's answer as JSON, or a table for people."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any


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
    """A table with a heading per column; a missing or null value is a dash."""
    # Imported here: only commands that draw pay for it.
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column.replace("_", " "), overflow="fold")
    for row in rows:
        table.add_row(*(cell(row.get(column)) for column in columns))
    Console(soft_wrap=False).print(table)


def show_fields(value: Mapping[str, Any]) -> None:
    """One object, a field per line."""
    width = max(map(len, value), default=0)
    for name, field in value.items():
        say(f"{name.replace('_', ' '):<{width}}  {cell(field)}")


def cell(value: object) -> str:
    """A value as people read it."""
    if value is None:
        return "-"
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False)
