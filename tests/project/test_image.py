"""The images: linted, non-root, and built from subsets of the tree that lack the other deployable's code."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.project.place import ROOT, tool

DEFINITIONS = sorted((ROOT / "deploy").glob("*.Dockerfile"))
COPY = re.compile(r"^COPY (?!--from)(?P<sources>.+) \S+$", re.MULTILINE)

parametrize_definitions = pytest.mark.parametrize("definition", DEFINITIONS, ids=lambda file: file.stem)


def _copied(definition: Path) -> list[str]:
    """The paths of the tree that an image is given."""
    return [path for copy in COPY.finditer(definition.read_text()) for path in copy["sources"].split()]


def _subset(definition: Path, place: Path) -> Path:
    """A copy of the tree as the image's build sees it: what the definition names, nothing else."""
    for name in _copied(definition):
        source, target = ROOT / name, place / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, target)
    return place


def _wheel(tree: Path) -> Path:
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", "dist"]
    subprocess.run(command, cwd=tree, check=True, capture_output=True, timeout=60)
    (wheel,) = (tree / "dist").glob("*.whl")
    return wheel


def _import(name: str, site: Path) -> subprocess.CompletedProcess[str]:
    """Import a package as the image would: from its own site folder, without the working copy."""
    program = (
        "import sys; sys.meta_path = [f for f in sys.meta_path if 'editable' not in repr(f).lower()]; "
        f"sys.path = [p for p in sys.path if not p.endswith('/src')]; sys.path.insert(0, {str(site)!r}); "
        f"import {name}; assert {name}.__file__.startswith({str(site)!r}), {name}.__file__"
    )
    return subprocess.run(
        [sys.executable, "-c", program], cwd=site, capture_output=True, text=True, timeout=30
    )


@pytest.mark.parametrize(("own", "other"), [("ingress", "control"), ("control", "ingress")])
def test_a_wheel_from_the_subset_lacks_the_other_deployable(own: str, other: str, tmp_path: Path) -> None:
    wheel = _wheel(_subset(ROOT / "deploy" / f"{own}.Dockerfile", tmp_path / "tree"))
    site = tmp_path / "site"
    zipfile.ZipFile(wheel).extractall(site)

    refused = _import(f"tenure_{other}", site)

    assert _import(f"tenure_{own}", site).returncode == 0
    assert refused.returncode == 1
    assert f"No module named 'tenure_{other}'" in refused.stderr
    assert (site / "tenure" / "__main__.py").exists()


@parametrize_definitions
def test_the_linter_has_nothing_to_say(definition: Path) -> None:
    run = subprocess.run([tool("hadolint"), str(definition)], capture_output=True, text=True, timeout=60)

    assert run.returncode == 0, run.stdout


@parametrize_definitions
def test_the_image_runs_as_nobody_and_needs_no_shell(definition: Path) -> None:
    final = definition.read_text().rpartition("\nFROM ")[2]

    assert re.search(r"^USER (?!0\b)\d+:\d+$", final, re.MULTILINE), (
        "a numeric user, which a cluster can verify"
    )
    assert re.search(r"^ENTRYPOINT \[", final, re.MULTILINE)
    assert not re.search(r"^(RUN|CMD (?!\[)|HEALTHCHECK .*CMD (?!\[))", final, re.MULTILINE)


@parametrize_definitions
def test_what_is_copied_exists_and_may_enter_the_build(definition: Path) -> None:
    allowed = (ROOT / ".dockerignore").read_text().splitlines()

    for name in _copied(definition):
        assert (ROOT / name).exists(), name
        assert f"!{name}" in allowed or f"!{Path(name).parent}" in allowed, name
