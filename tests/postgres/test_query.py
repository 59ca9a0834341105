"""Statements as files."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tenure_postgres import query
from tests.postgres import sample_queries


def test_a_folder_is_read_as_a_mapping() -> None:
    queries = query.folder(sample_queries.__name__)

    assert list(queries) == ["good"]
    assert "good" in queries
    assert queries["good"].endswith("SELECT $1::int")
    assert query.purpose(queries["good"]) == "Says what it does."
    assert query.load(sample_queries.__name__, "good") == queries["good"]


def test_a_name_that_is_not_there_is_said_with_those_that_are() -> None:
    with pytest.raises(query.QueryFileError, match=r"no better\.sql; it has good"):
        query.folder(sample_queries.__name__)["better"]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("", "first line"),
        ("SELECT 1", "first line"),
        ("--\nSELECT 1", "first line"),
        ("-- Says.\n-- Only.\n", "no statement"),
    ],
)
def test_a_file_must_say_what_it_does_and_do_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: str, reason: str
) -> None:
    package = tmp_path / "package_of_queries"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "bad.sql").write_text(content)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "package_of_queries", raising=False)

    with pytest.raises(query.QueryFileError, match=reason):
        query.folder("package_of_queries")
