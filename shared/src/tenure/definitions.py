"""Definition files: a folder of YAML and TOML, read into what the API takes, with the file that said it.

YAML is read by the rules of YAML 1.2 (only `true` and `false` are booleans, nothing is a date or a base-60
number), because `on:` is a key of ours. Duplicate keys and anchors are refused: both make a file mean
something that its reader does not see.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import yaml

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
    if source.is_file():
        yield source
        return
    found = sorted(file for file in source.rglob("*") if file.suffix in ENDINGS and file.is_file())
    if not found:
        raise DefinitionFileError(f"{source}: no definition files (*.yaml, *.yml, *.toml) here")
    yield from found


def _add(projects: dict[str, Project], file: Path, content: Mapping[str, Any]) -> None:
    name = content.get("project")
    if not isinstance(name, str):
        raise DefinitionFileError(f"{file}: `project: NAME` is missing at the top")
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
        raise DefinitionFileError(f"{file}: {_one_line(error)}") from error
    if not isinstance(parsed, dict):
        raise DefinitionFileError(f"{file}: a mapping expected, with project, {', '.join(KINDS)}")
    texts: dict[str, Any] = _with_text_keys(file, parsed)
    return texts


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split()) or type(error).__name__


def _with_text_keys(file: Path, value: Any) -> Any:
    """JSON has text keys only: `exit_codes: {75: retry}` is written with numbers."""
    if isinstance(value, dict):
        texts = {
            str(key) if isinstance(key, int) else key: _with_text_keys(file, item)
            for key, item in value.items()
        }
        if len(texts) != len(value) or not all(isinstance(key, str) for key in texts):
            raise DefinitionFileError(
                f"{file}: keys must be text or whole numbers, each once: {list(value)[:8]}"
            )
        return texts
    if isinstance(value, list):
        return [_with_text_keys(file, item) for item in value]
    return value


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
