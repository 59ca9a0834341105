"""What may import what: the contracts of pyproject.toml hold, each gives its reason, none is forgotten."""

from __future__ import annotations

import ast
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.project.place import ROOT, tool

CONTRACTS: list[dict[str, Any]] = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"][
    "importlinter"
]["contracts"]


def _imported(file: Path) -> Iterator[str]:
    """The top-level names that a module imports, wherever in it."""
    for node in ast.walk(ast.parse(file.read_text())):
        match node:
            case ast.Import(names=names):
                yield from (alias.name.partition(".")[0] for alias in names)
            case ast.ImportFrom(module=str(module), level=0):
                yield module.partition(".")[0]


def test_every_contract_is_kept() -> None:
    """In a process of its own: the linter changes the import path of the one it runs in."""
    run = subprocess.run(
        [tool("lint-imports"), "--no-logo", "--no-cache"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
    )

    assert run.returncode == 0, run.stdout + run.stderr


@pytest.mark.parametrize("contract", CONTRACTS, ids=lambda contract: contract["id"])
def test_every_contract_gives_its_reason(contract: dict[str, Any]) -> None:
    assert len(contract["broken_contract_guidance"].split()) > 10


def test_contracts_import_nothing_but_the_standard_library_and_msgspec() -> None:
    """The linter forbids by name; this allows by name, so a library nobody thought of is caught too."""
    allowed = sys.stdlib_module_names | {"msgspec", "tenure_contracts"}
    package = ROOT / "shared" / "src" / "tenure_contracts"

    strangers = {name for file in package.rglob("*.py") for name in _imported(file)} - allowed

    assert strangers == set()


def test_every_package_is_known_to_the_linter() -> None:
    packages = {path.parent.name for path in ROOT.glob("*/src/*/__init__.py")}
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]

    assert set(settings["importlinter"]["root_packages"]) == packages
    assert {
        Path(path).name for path in settings["hatch"]["build"]["targets"]["wheel"]["packages"]
    } == packages
