"""Canonical JSON, and the digests over it.

Two writers of one value must produce the same bytes: sorted keys, NFC text, UTF-8, no spaces. Floats
are refused instead of formatted, because their text is where implementations differ; durations are
integer microseconds, factors decimal strings.
"""

from __future__ import annotations

import hashlib
import json
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Final

from tenure_contracts.bounds import JSON_DEPTH

TASK_DOMAIN: Final = "tenure/task"
TRIGGER_DOMAIN: Final = "tenure/trigger"
WORKFLOW_DOMAIN: Final = "tenure/workflow"
PLAN_DOMAIN: Final = "tenure/plan"
PLACEMENT_DOMAIN: Final = "tenure/placement"

_REFUSED: Final = {float: "a float (write it as text)", bytes: "bytes", set: "a set"}


class DigestError(ValueError):
    """A value has no canonical form; `path` is its place in JSON path notation."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.path = path
        self.reason = reason


def canonical_json(value: object) -> bytes:
    """The one encoding of a JSON value. Raises DigestError for what has none, naming its path."""
    normal = _normal(value, "$", 0)
    return json.dumps(normal, ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode()


def digest(domain: str, value: object) -> bytes:
    """SHA-256 over the domain text, a zero byte and the canonical JSON of the value."""
    return hashlib.sha256(domain.encode() + b"\0" + canonical_json(value)).digest()


def digest_of_text(domain: str, canonical: str) -> bytes:
    """The digest of an already canonical text, as a stored specification is verified."""
    return hashlib.sha256(domain.encode() + b"\0" + canonical.encode()).digest()


def _normal(value: object, path: str, depth: int) -> object:
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, str):
        return _text(value, path)
    if depth >= JSON_DEPTH:
        raise DigestError(path, f"nested deeper than {JSON_DEPTH}")
    if isinstance(value, Mapping):
        return _object(value, path, depth)
    if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray):
        return [_normal(item, f"{path}[{index}]", depth + 1) for index, item in enumerate(value)]
    raise DigestError(path, f"{_REFUSED.get(type(value), type(value).__name__)} has no canonical form")


def _object(value: Mapping[object, object], path: str, depth: int) -> dict[str, object]:
    normal: dict[str, object] = {}
    for key, item in value.items():
        if not isinstance(key, str):
            raise DigestError(path, f"key {key!r} is not text")
        name = _text(key, path)
        if name in normal:
            raise DigestError(path, f"two keys read {name!r} in normal form C")
        normal[name] = _normal(item, f"{path}.{name}", depth + 1)
    return normal


def _text(value: str, path: str) -> str:
    if "\0" in value:
        raise DigestError(path, "text contains NUL")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise DigestError(path, "text contains a lone surrogate") from error
    return unicodedata.normalize("NFC", value)
