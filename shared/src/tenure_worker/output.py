"""The bounded tail of a command's output.

Commands write to files, because a pipe would break or block them once the agent is gone. A file grows with
what is written, so while a command runs its middle is punched out of it again and again: what stays on the
disk is the first bytes, the last bytes, and what came since the last look. Nothing is ever read but the two
ends, so a flood costs neither memory nor time.
"""

from __future__ import annotations

import ctypes
import os
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from tenure_contracts import bounds

HEAD_BYTES = 1024
TAIL_BYTES = 6 * 1024
_BLOCK = 4096
_PUNCH_HOLE_KEEP_SIZE = 0x02 | 0x01


class Excerpt(Struct, frozen=True, kw_only=True):
    """Both ends of a stream: `bytes` is how much was written, `text` what is shown of it."""

    bytes: int
    truncated: bool
    text: str


def excerpt(path: Path) -> Excerpt:
    """Read both ends of a stream's file. A missing file is an empty stream."""
    try:
        with path.open("rb") as stream:
            size = os.fstat(stream.fileno()).st_size
            if size <= HEAD_BYTES + TAIL_BYTES:
                return Excerpt(bytes=size, truncated=False, text=readable(stream.read(size)))
            head = stream.read(HEAD_BYTES)
            stream.seek(size - TAIL_BYTES)
            tail = stream.read(TAIL_BYTES)
    except FileNotFoundError:
        return Excerpt(bytes=0, truncated=False, text="")
    cut = size - HEAD_BYTES - TAIL_BYTES
    return Excerpt(
        bytes=size, truncated=True, text=f"{readable(head)}\n[… {cut} bytes cut …]\n{readable(tail)}"
    )


def log_tail(stdout: Excerpt, stderr: Excerpt) -> dict[str, Any]:
    """Both streams as the `log` of a completion."""
    parts = [stdout.text, f"[stderr]\n{stderr.text}" if stderr.bytes else ""]
    return {
        "bytes": stdout.bytes + stderr.bytes,
        "truncated": stdout.truncated or stderr.truncated,
        "tail": "\n".join(filter(None, parts))[-bounds.LOG_TAIL_CHARACTERS :],
    }


def result_value(path: Path) -> Any:
    """The JSON that a command left in the file named by `TENURE_OUTPUT`; None without one.

    Anything that is not JSON within the bound is handed on as text, cut to the bound: judging a result is the
    ingress's part, and a completion is never refused for it.
    """
    try:
        with path.open("rb") as stream:
            content = stream.read(bounds.OUTPUT_BYTES + 1)
    except OSError:
        return None
    try:
        return msgspec.json.decode(content)
    except (msgspec.MsgspecError, RecursionError, UnicodeError):
        return readable(content)


def readable(content: bytes) -> str:
    """Bytes as text that JSON and PostgreSQL can hold: NUL and what is not UTF-8 are shown as `\\xNN`."""
    return content.decode("utf-8", "backslashreplace").replace("\0", "\\x00")


def trim(path: Path) -> None:
    """Give the disk space of a stream's middle back, where the file system can. Blocking, quick."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        length = (os.fstat(descriptor).st_size - TAIL_BYTES) // _BLOCK * _BLOCK - _BLOCK
        if length > 0:
            _LIBC.fallocate(descriptor, _PUNCH_HOLE_KEEP_SIZE, _BLOCK, length)
    finally:
        os.close(descriptor)


def _libc() -> ctypes.CDLL:
    library = ctypes.CDLL(None, use_errno=True)
    library.fallocate.argtypes = (ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_int64)
    return library


_LIBC = _libc()
