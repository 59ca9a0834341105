"""Definition files: a folder of YAML and TOML, read into what the API takes, with the file that said it.

YAML is read by the rules of YAML 1.2 (only `true` and `false` are booleans, nothing is a date or a base-60
number), because `on:` is a key of ours. Duplicate keys and anchors are refused: both make a file mean
something that its reader does not see.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, time
from pathlib import Path
from typing import Any, Final

import yaml

from tenure_contracts.identity import check_name

KINDS: Final = ("tasks", "triggers", "workflows")
ENDINGS: Final = (".yaml", ".yml", ".toml")
FILE_BYTES: Final = 1024 * 1024
"""More is not a definition somebody wrote."""


class DefinitionFileError(Exception):
    """A file cannot be read as definitions. The text names the file and the place in it."""


@dataclass
class Project:
    """The definitions of one project, and the file that each came from."""

    name: str
    definitions: dict[str, dict[str, Any]] = field(default_factory=dict)
    origins: dict[tuple[str, str], Path] = field(default_factory=dict)

    def origin(self, path: str) -> Path | None:
        """The file of a JSON path such as `$.tasks.report.timeout`."""
        for (kind, name), file in self.origins.items():
            if re.match(
                rf"\$\.(definitions\.)?{kind}(\.|\[['\"]?){re.escape(name)}(['\"]?\])?(\.|\[|$)", path
            ):
                return file
        return None


def read(source: Path) -> list[Project]:
    """Read one file, or every definition file below a folder, in the order of their names.

    Raises DefinitionFileError: no such file, not UTF-8, not YAML or TOML, no `project`, an unknown top-level
    key, or one name defined twice.
    """
    projects: dict[str, Project] = {}
    for file in _files(source):
        _add(projects, file, _parse(file))
    return list(projects.values())


def _files(source: Path) -> Iterator[Path]:
    if not source.is_dir():
        yield source
        return
    found = sorted(file for file in source.rglob("*") if file.suffix in ENDINGS and _is_meant(file))
    if not found:
        raise DefinitionFileError(f"{source}: no definition files (*.yaml, *.yml, *.toml) here")
    yield from found


def _is_meant(file: Path) -> bool:
    # A link to nothing was meant as a file, and is told when it is read; a pipe would be waited for.
    return file.is_file() or (file.is_symlink() and not file.exists())


def _add(projects: dict[str, Project], file: Path, content: Mapping[str, Any]) -> None:
    name = content.get("project")
    if not isinstance(name, str):
        raise DefinitionFileError(f"{file}: `project: NAME` is missing at the top")
    try:
        check_name(name, "project")
    except ValueError as error:
        raise DefinitionFileError(f"{file}: {error}") from error
    if unknown := sorted(set(content) - {"project", *KINDS}):
        raise DefinitionFileError(
            f"{file}: unknown key {unknown[0]!r}; a file holds project, {', '.join(KINDS)}"
        )
    project = projects.setdefault(name, Project(name))
    for kind in KINDS:
        _add_kind(project, file, kind, content.get(kind) or {})


def _add_kind(project: Project, file: Path, kind: str, named: object) -> None:
    if not isinstance(named, dict):
        raise DefinitionFileError(f"{file}: {kind}: a mapping from name to definition expected")
    for name, definition in named.items():
        if earlier := project.origins.get((kind, name)):
            raise DefinitionFileError(f"{file}: {kind}.{name} is defined in {earlier} already")
        project.origins[kind, name] = file
        project.definitions.setdefault(kind, {})[name] = definition


def _parse(file: Path) -> Mapping[str, Any]:
    try:
        content = file.read_bytes()
        if len(content) > FILE_BYTES:
            raise DefinitionFileError(
                f"{file}: {len(content)} bytes; a definition file has at most {FILE_BYTES}"
            )
        text = content.decode("utf-8")
        parsed = tomllib.loads(text) if file.suffix == ".toml" else yaml.load(text, _Loader)  # noqa: S506 - safe
    except (OSError, ValueError, yaml.YAMLError, RecursionError) as error:
        raise DefinitionFileError(f"{file}{_complaint(error)}") from error
    if not isinstance(parsed, dict):
        raise DefinitionFileError(f"{file}: a mapping expected, with project, {', '.join(KINDS)}")
    try:
        texts: dict[str, Any] = _as_json(parsed, "$")
    except (ValueError, RecursionError) as error:
        raise DefinitionFileError(f"{file}{_complaint(error)}") from error
    return texts


def _complaint(error: Exception) -> str:
    """What a parser says, in one line, with the place in the file where it knows it."""
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark is not None:
        mark = error.problem_mark
        doing = f" {error.context}" if error.context else ""
        return f":{mark.line + 1}:{mark.column + 1}: {error.problem}{doing}"
    if isinstance(error, RecursionError):
        return ": it is nested too deeply"
    if isinstance(error, OSError):
        return f": {error.strerror}"
    return f": {' '.join(str(error).split())}"


def _as_json(value: Any, path: str) -> Any:
    """The value, when JSON can carry it. JSON has text keys only: `exit_codes: {75: retry}` has numbers.

    Raises ValueError naming the path: a key that is neither text nor a whole number, or one twice; a date; a
    number that is none; text that is not Unicode.
    """
    if isinstance(value, dict):
        texts = {str(key): _as_json(item, f"{path}.{key}") for key, item in value.items()}
        if len(texts) != len(value) or not all(type(key) in (str, int) for key in value):
            raise ValueError(f"{path}: keys must be text or whole numbers, each once: {list(value)[:8]}")
        return texts
    if isinstance(value, list):
        return [_as_json(item, f"{path}[{index}]") for index, item in enumerate(value)]
    if fault := _fault(value):
        raise ValueError(f"{path}: {fault}")
    return value


def _fault(value: Any) -> str | None:
    """What keeps a single value of YAML or TOML from being one of JSON."""
    if isinstance(value, date | datetime | time):
        return f"dates and times are written as text, in quotes (read {value})"
    if isinstance(value, float) and not math.isfinite(value):
        return f"numbers must be finite (read {value})"
    if isinstance(value, str) and any("\ud800" <= character <= "\udfff" for character in value):
        return f"text must be Unicode, without surrogates (read {value[:80]!a})"
    return None


class _Loader(yaml.SafeLoader):
    """YAML 1.2 scalars, no anchors, no duplicate keys."""

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        event = self.peek_event()  # type: ignore[no-untyped-call]
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
            raise _refused("anchors and aliases are not allowed", event)
        return super().compose_node(parent, index)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise _refused("a key must be text", key)
            if key.value in seen:
                raise _refused(f"{key.value!r} stands here twice", key)
            seen.add(key.value)
        return super().construct_mapping(node, deep)


def _refused(problem: str, where: Any) -> yaml.constructor.ConstructorError:
    return yaml.constructor.ConstructorError(None, None, problem, where.start_mark)


_SCALARS: Final = {
    "null": (r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    "bool": (r"true|True|TRUE|false|False|FALSE", list("tTfF")),
    "int": (r"[-+]?(0|[1-9][0-9]*)", list("-+0123456789")),
    "float": (
        r"[-+]?(\.[0-9]+|[0-9]+\.[0-9]*)([eE][-+]?[0-9]+)?|[-+]?[0-9]+[eE][-+]?[0-9]+",
        list("-+.0123456789"),
    ),
}
_Loader.yaml_implicit_resolvers = {}
for _tag, (_pattern, _first) in _SCALARS.items():
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(rf"(?:{_pattern})\Z"), _first)
