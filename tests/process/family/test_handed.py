"""What a parent hands over survives the command line."""

from __future__ import annotations

import pytest

from tenure_process.family.handed import Handed


@pytest.mark.parametrize("handed", [Handed(0, (3,), 4), Handed(63, (7, 9), 5)])
def test_it_is_read_as_it_was_written(handed: Handed) -> None:
    assert Handed.read(handed.arguments) == handed
    assert set(handed.descriptors) == {*handed.listen, handed.probe}


def test_nothing_means_nobody() -> None:
    assert Handed.read([]) is None


@pytest.mark.parametrize("arguments", [["--help"], ["--handed"], ["--handed", "x"], ["--processes", "2"]])
def test_anything_else_is_refused(arguments: list[str]) -> None:
    with pytest.raises(ValueError, match=r"settings are given|invalid literal"):
        Handed.read(arguments)
