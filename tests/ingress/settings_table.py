"""The settings in `docs/ingress.md`: `python -m tests.ingress.settings_table` makes the table of the code."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import re
from collections.abc import Iterator
from types import ModuleType
from typing import Any, Final

import tenure_http.limits
import tenure_ingress.settings
from tenure_contracts.duration import format_duration
from tenure_http import Limits
from tenure_ingress.settings import Settings
from tenure_process.limits import RANGES, limit_name
from tests.project.place import ROOT

DOCUMENT: Final = ROOT / "docs" / "ingress.md"
BEGIN: Final = "<!-- settings: python -m tests.ingress.settings_table -->\n"
END: Final = "<!-- end of settings -->\n"

_NAMED: Final = re.compile(r"((?:`[A-Z_]+`(?:, )?)+): (.*)", re.DOTALL)


def table() -> str:
    """The lines between the marks."""
    rows = ["| `TENURE_INGRESS_…` | default | |", "| --- | --- | --- |", *_settings(), *_limits()]
    return "".join(f"{row}\n" for row in rows)


def names() -> set[str]:
    """Every setting, behind the prefix."""
    return set(re.findall(r"^\| `([A-Z_]+)`", table(), re.MULTILINE))


def _settings() -> Iterator[str]:
    said = _sentences(tenure_ingress.settings, "Settings")
    for field in dataclasses.fields(Settings):
        if field.name == "limits":
            continue
        found = _NAMED.fullmatch(said[field.name])
        assert found is not None, said[field.name]
        for name in re.findall(r"[A-Z_]+", found[1]):
            yield f"| `{name}` | {_default(field)} | {found[2]} |"


def _limits() -> Iterator[str]:
    said = _sentences(tenure_http.limits, "Limits")
    for name, (low, high) in RANGES.items():
        bounds = f"{_text(name, low)} to {_text(name, high)}"
        default = _text(name, getattr(Limits(), name))
        yield f"| `{limit_name(name)}` | {default} ({bounds}) | {said[name]} |"


def _sentences(module: ModuleType, name: str) -> dict[str, str]:
    """What stands below each field of a class, in one line."""
    (found,) = (
        node
        for node in ast.parse(inspect.getsource(module)).body
        if isinstance(node, ast.ClassDef) and node.name == name
    )
    said = {}
    for field, text in zip(found.body, found.body[1:], strict=False):
        if isinstance(field, ast.AnnAssign) and isinstance(text, ast.Expr):
            assert isinstance(field.target, ast.Name)
            assert isinstance(text.value, ast.Constant)
            said[field.target.id] = " ".join(str(text.value.value).split())
    return said


def _default(field: dataclasses.Field[Any]) -> str:
    if field.default is dataclasses.MISSING:
        return "required"
    return "" if field.default is None else _text(field.name, field.default)


def _text(name: str, value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if name.endswith("_s"):
        return format_duration(round(value * 1e6))
    if name.endswith("_jitter"):
        return f"{round(value * 100)}%"
    return str(value)


def main() -> None:
    """Write the document's table anew."""
    before, _, rest = DOCUMENT.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    DOCUMENT.write_text(f"{before}{BEGIN}{table()}{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
