"""Output: floods cost nothing, both ends are kept, bytes that are not text survive."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tenure_contracts import bounds
from tenure_worker.output import (
    HEAD_BYTES,
    TAIL_BYTES,
    Excerpt,
    excerpt,
    log_tail,
    readable,
    result_value,
    trim,
)
from tests.harness.fake_ingress import open_fake_ingress
from tests.worker.running import running_agent

BOUND = HEAD_BYTES + TAIL_BYTES


@pytest.mark.parametrize("size", [0, 1, BOUND - 1, BOUND])
def test_what_fits_is_kept_whole(size: int, tmp_path: Path) -> None:
    (tmp_path / "out").write_bytes(b"x" * size)
    assert excerpt(tmp_path / "out") == Excerpt(bytes=size, truncated=False, text="x" * size)


def test_what_does_not_fit_keeps_both_ends_and_marks_the_cut(tmp_path: Path) -> None:
    (tmp_path / "out").write_bytes(b"a" * HEAD_BYTES + b"b" * 100 + b"c" * TAIL_BYTES)
    seen = excerpt(tmp_path / "out")
    assert seen.truncated
    assert seen.text == "a" * HEAD_BYTES + "\n[… 100 bytes cut …]\n" + "c" * TAIL_BYTES


def test_no_file_is_no_output(tmp_path: Path) -> None:
    assert excerpt(tmp_path / "none").bytes == 0
    assert result_value(tmp_path / "none") is None
    trim(tmp_path / "none")


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"a\0b", "a\\x00b"),
        (b"\xff\xfe", "\\xff\\xfe"),
        ("ü😀\u202e".encode(), "ü😀\u202e"),
        (b"\xed\xa0\x80", "\\xed\\xa0\\x80"),
    ],
)
def test_bytes_that_are_not_text_are_shown(content: bytes, text: str) -> None:
    assert readable(content) == text


def test_the_tail_of_a_completion_is_bounded() -> None:
    stream = Excerpt(bytes=10**9, truncated=True, text="\\x00" * BOUND)
    tail = log_tail(stream, stream)
    assert len(tail["tail"]) == bounds.LOG_TAIL_CHARACTERS
    assert (tail["bytes"], tail["truncated"]) == (2 * 10**9, True)


@pytest.mark.parametrize(
    ("content", "value"), [(b'{"rows": 3}', {"rows": 3}), (b"null", None), (b"not json", "not json")]
)
def test_result_values(content: bytes, value: object, tmp_path: Path) -> None:
    (tmp_path / "output").write_bytes(content)
    assert result_value(tmp_path / "output") == value


def test_trimming_gives_the_middle_back_and_keeps_both_ends(tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.write_bytes(os.urandom(8 * 1024 * 1024))
    before = excerpt(path)
    trim(path)
    assert excerpt(path) == before
    assert path.stat().st_blocks * 512 < 128 * 1024


async def test_a_flood_without_a_newline(tmp_path: Path) -> None:
    size = 1024 * 1024 * 1024
    async with open_fake_ingress() as ingress:
        attempt = ingress.give(["sh", "-c", f"head -c {size} /dev/zero; printf END"])
        async with running_agent(ingress, tmp_path / "journal"):
            await ingress.wait_until(lambda: attempt.completion is not None)
    assert attempt.completion is not None
    log = bytes(attempt.completion.log)
    assert f'"bytes":{size + 3},"truncated":true'.encode() in log
    assert log.endswith(b'END"}')
    assert len(log) < 40_000
