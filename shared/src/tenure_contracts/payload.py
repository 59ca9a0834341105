"""User JSON and program text: what may be stored, and what becomes of the rest.

Input is checked when it is submitted and refused when it is bad. What a program reports is never a
reason to refuse a completion, because a run must end although its program printed NUL (as users of
comparable systems met it): bad output becomes null with a flag, bad text is repaired with U+FFFD.
"""

from __future__ import annotations

import re
from typing import Final, Literal

import msgspec

from tenure_contracts import bounds

OutputFlag = Literal["too_large", "invalid"]

_NUL: Final = b"\\u0000"
_NUL_TEXT: Final = b'"\\u0000"'
# An escape counts where an even number of backslashes stands before it; the run is read once, from its start.
_NUL_ESCAPE: Final = re.compile(rb"(?<!\\)(?:\\\\)*+\\u0000")
_SURROGATES: Final = re.compile(
    rb"(?<!\\)((?:\\\\)*+)(?:"
    rb"(\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})|\\u[dD][89a-fA-F][0-9a-fA-F]{2})"
)
# A string ends at its quote or with the text, so that an unterminated one is scanned only once.
_TOKEN: Final = re.compile(rb'"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)|[\[\]{}]', re.DOTALL)
_UNSTORABLE: Final = re.compile("[\\0\\ud800-\\udfff]")
_TINY_NUMBER: Final = re.compile(rb"[0-9][eE]-[0-9]{3}")


def json_fault(raw: bytes, limit_bytes: int) -> OutputFlag | None:
    """Why a JSON text may not be stored, or None: over the limit, NUL, lone surrogate, depth, bad syntax."""
    if len(raw) > limit_bytes:
        return "too_large"
    if _NUL_ESCAPE.search(raw) or cut_depth(raw, bounds.JSON_DEPTH) != raw:
        return "invalid"
    try:
        msgspec.json.decode(raw)
        raw.decode()
    except (msgspec.MsgspecError, RecursionError, UnicodeError):
        return "invalid"
    return None


def sanitise_output(raw: bytes) -> tuple[str | None, OutputFlag | None]:
    """The JSON text to store for a reported output, or None, with the flag that says why it is missing."""
    if raw.strip() == b"null":
        return None, None
    flag = json_fault(raw, bounds.OUTPUT_BYTES)
    if flag is not None:
        return None, flag
    return storable_number_text(raw).decode(), None


def storable_number_text(raw: bytes) -> bytes:
    """The same JSON with numbers a database prints in bounded space: 1e-16000 would be 16 KiB of zeros."""
    return msgspec.json.encode(msgspec.json.decode(raw)) if _TINY_NUMBER.search(raw) else raw


def sanitise_text(text: str, limit_characters: int) -> str:
    """Program text fit for PostgreSQL: NUL and lone surrogates become U+FFFD, the rest is cut with '…'."""
    clean = _UNSTORABLE.sub("\ufffd", text)
    return clean if len(clean) <= limit_characters else clean[: limit_characters - 1] + "…"


def mend(body: bytes) -> bytes:
    """A body whose unreadable user JSON is marked with NUL, so that the rest of it can be read.

    Lone surrogate escapes and values nested deeper than `JSON_DEPTH` make every reader give up on the
    whole body; NUL is the mark because it is refused, or repaired, wherever it stands.
    """
    return cut_depth(_SURROGATES.sub(_mark_lone, body), bounds.JSON_DEPTH)


def cut_depth(body: bytes, depth_limit: int) -> bytes:
    """Replace each value nested deeper than `depth_limit` by a NUL text; bodies of too many brackets stay."""
    brackets = body.count(b"[") + body.count(b"{")
    if not depth_limit < brackets <= bounds.MENDED_BRACKETS:
        return body
    pieces: list[bytes] = []
    depth = kept = 0
    for token in _TOKEN.finditer(body):
        if token[0] in (b"[", b"{"):
            depth += 1
            if depth == depth_limit + 1:
                pieces += (body[kept : token.start()], _NUL_TEXT)
        elif token[0] in (b"]", b"}"):
            if depth == depth_limit + 1:
                kept = token.end()
            depth -= 1
    return body if depth else b"".join((*pieces, body[kept:]))


def _mark_lone(surrogates: re.Match[bytes]) -> bytes:
    backslashes, pair = surrogates.groups()
    return surrogates[0] if pair else backslashes + _NUL
