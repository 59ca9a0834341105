"""Statements as files.

One statement lives in one `.sql` file beside the module that sends it, and its first line is a comment that
says what it does. `QUERIES = folder(__package__)` reads them all when the module is imported, so that a
missing or empty file is found at start and not at the first use.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib.resources import files
from importlib.resources.abc import Traversable


class QueryFileError(Exception):
    """A query file is missing, empty, or does not say what it does."""


class Folder(Mapping[str, str]):
    """The statements of one package, by file name without its ending."""

    def __init__(self, package: str, statements: Mapping[str, str]) -> None:
        self.package = package
        self._statements = dict(statements)

    def __getitem__(self, name: str) -> str:
        if name not in self._statements:
            raise QueryFileError(
                f"{self.package} has no {name}.sql; it has {', '.join(sorted(self)) or 'none'}"
            )
        return self._statements[name]

    def __contains__(self, name: object) -> bool:
        return name in self._statements

    def __iter__(self) -> Iterator[str]:
        return iter(self._statements)

    def __len__(self) -> int:
        return len(self._statements)


def folder(package: str | None) -> Folder:
    """Read every `.sql` file of a package.

    Raises QueryFileError when one of them does not begin with a comment or holds no statement.
    """
    assert package, "a module outside of a package has no folder of queries"
    found = sorted(
        (each for each in files(package).iterdir() if each.name.endswith(".sql")), key=lambda f: f.name
    )
    return Folder(package, {each.name.removesuffix(".sql"): _read(each) for each in found})


def load(package: str, name: str) -> str:
    """Read one statement of a package."""
    return folder(package)[name]


def purpose(statement: str) -> str:
    """What the statement does: its first comment line."""
    return statement.partition("\n")[0].removeprefix("--").strip()


def _read(file: Traversable) -> str:
    text = file.read_text(encoding="utf-8").strip()
    if not text.startswith("--") or not purpose(text):
        raise QueryFileError(f"{file.name}: the first line must be a comment that says what it does")
    if all(line.lstrip().startswith("--") or not line.strip() for line in text.splitlines()):
        raise QueryFileError(f"{file.name}: there is no statement")
    return text
