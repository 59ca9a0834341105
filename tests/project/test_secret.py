"""What holds a secret does not show it, in a log or a traceback; and no code compares secrets itself."""

from __future__ import annotations

import ast
import dataclasses
import importlib
import pkgutil
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import msgspec

from tests.project.place import ROOT

PACKAGES = (
    *("tenure_contracts", "tenure_control", "tenure_http", "tenure_ingress", "tenure_postgres"),
    *("tenure_process", "tenure_worker", "tenure"),
)

SECRET = frozenset({"token", "secret", "secret_digest", "password", "values", "data"})
ADDRESS = ("_url", "dsn")
PUBLIC = frozenset({"base_url", "ingress_url"})
HARMLESS = ("bool", "UUID", "Token")  # Token hides its secret itself


def _modules(package: str) -> Iterator[ModuleType]:
    root = importlib.import_module(package)
    yield root
    for found in pkgutil.walk_packages(root.__path__, f"{package}."):
        if not found.name.endswith("__main__"):
            yield importlib.import_module(found.name)


def _is_secret(name: str, kind: object) -> bool:
    return (
        (name in SECRET or name.endswith(ADDRESS))
        and name not in PUBLIC
        and not any(word in str(kind) for word in HARMLESS)
    )


def _shown(owner: type) -> list[str]:
    """The fields of a class that hold a secret and stand in its representation."""
    if issubclass(owner, msgspec.Struct):
        fields = [(field.name, field.type) for field in msgspec.structs.fields(owner)]
        return [
            name
            for name, kind in fields
            if owner.__repr__ is msgspec.Struct.__repr__ and _is_secret(name, kind)
        ]
    if not dataclasses.is_dataclass(owner):
        return []
    secrets = [field.name for field in dataclasses.fields(owner) if _is_secret(field.name, field.type)]
    return [name for name in secrets if "hidden" in repr(_filled(owner, name))]


def _filled(owner: Any, secret: str) -> object:
    """An instance that was never initialised, with one field filled."""
    made: object = object.__new__(owner)
    for field in dataclasses.fields(owner):
        object.__setattr__(made, field.name, "hidden" if field.name == secret else None)
    return made


def test_no_secret_is_in_a_representation() -> None:
    shown = {
        f"{owner.__module__}.{owner.__qualname__}": _shown(owner)
        for package in PACKAGES
        for module in _modules(package)
        for owner in vars(module).values()
        if isinstance(owner, type) and owner.__module__ == module.__name__
    }
    assert len(shown) > 300
    assert {name: fields for name, fields in shown.items() if fields} == {}


def test_the_look_at_representations_can_fail() -> None:
    @dataclasses.dataclass
    class Careless:
        token: str
        database_url: str = dataclasses.field(repr=False)

    class Struct(msgspec.Struct):
        secret: str

    assert (_shown(Careless), _shown(Struct)) == (["token"], ["secret"])


def _name(node: ast.expr) -> str | None:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else None


def _comparisons(source: str) -> list[str]:
    """Where secrets are compared byte by byte, which takes as long as they agree."""
    return [
        ast.unparse(node)
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Compare)
        and any(isinstance(operator, ast.Eq | ast.NotEq) for operator in node.ops)
        and SECRET & {_name(side) for side in (node.left, *node.comparators)}
    ]


def test_secrets_are_compared_by_the_database_alone_and_there_as_digests() -> None:
    for folder in ("shared/src", "control/src", "ingress/src"):
        for file in (ROOT / folder).rglob("*.py"):
            assert _comparisons(file.read_text()) == [], f"{file}: use hmac.compare_digest"
    assert _comparisons("if token.secret_digest == other: ...") == ["token.secret_digest == other"]
