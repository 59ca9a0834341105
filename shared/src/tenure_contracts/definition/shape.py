"""From plain values to definition types: the shape errors of msgspec, told with path, value and remedy."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final, TypeVar

import msgspec

from tenure_contracts import bounds
from tenure_contracts.digest import DigestError, canonical_json
from tenure_contracts.digest import digest as digest_of
from tenure_contracts.fault import Faults
from tenure_contracts.identity import IdentityError, check_name
from tenure_contracts.template import TemplateError, paths
from tenure_contracts.wire.field import Instant

T = TypeVar("T")

_PLACE: Final = re.compile(r"(.*?)(?: - at (?:`key` in )?`\$(.*)`)?", re.DOTALL)
_STEP: Final = re.compile(r"\.([^.\[]+)|\[(\d+)\]|(\[\.\.\.\])")
_QUOTES: Final = ": write it in quotes, and a duration with its unit, such as 90s"
_UNKNOWN: Final = re.compile(r"Object contains unknown field `(.*)`", re.DOTALL)


def read(value: object, kind: type[T], faults: Faults) -> T | None:
    """The value as `kind`, or None after noting its first fault. YAML's integer keys become text."""
    plain = _plain(value, faults)
    try:
        return msgspec.convert(plain, kind, dec_hook=_read_hook)
    except msgspec.ValidationError as error:
        _note(str(error), plain, kind, faults)
        return None


def read_or_raise(value: object, kind: type[T], path: str) -> T:
    """`read` for one definition alone. Raises DefinitionErrors."""
    faults = Faults(path)
    result = read(value, kind, faults)
    faults.raise_if_any()
    assert result is not None
    return result


def check_name_at(name: str, what: str, faults: Faults) -> None:
    """Note a fault unless `name` is a name."""
    try:
        check_name(name, what)
    except IdentityError as error:
        faults.add(str(error))


def check_templates(value: object, roots: frozenset[str], faults: Faults) -> None:
    """Note a fault for a template that cannot be parsed, or begins where this place has no value."""
    try:
        for path in paths(value):
            if path.root not in roots:
                allowed = ", ".join(sorted(roots)) or "nothing"
                faults.add(f"`{path.text}`: only {allowed} can be used here", value)
    except TemplateError as error:
        faults.add(str(error), value)


def check_json(value: object, faults: Faults) -> bool:
    """Note a fault unless the value has a canonical form (no float, no NUL, not too deep)."""
    try:
        canonical_json(value)
    except DigestError as error:
        faults.at_path(error.path).add(error.reason)
        return False
    return True


def seal(domain: str, spec: msgspec.Struct, faults: Faults) -> tuple[str, bytes]:
    """Canonical text and digest of a specification; a fault is noted when it is too large."""
    builtins = msgspec.to_builtins(spec, enc_hook=_write_hook)
    try:
        text = canonical_json(builtins)
    except DigestError as error:
        faults.at_path(error.path).add(error.reason)
        return "", b""
    if len(text) > bounds.DEFINITION_BYTES:
        faults.add(f"takes {len(text)} bytes in canonical form, at most {bounds.DEFINITION_BYTES}")
    return text.decode(), digest_of(domain, builtins)


def decode_spec(text: str | bytes, kind: type[T]) -> T:
    """Read a stored specification. Raises msgspec.DecodeError for text that this code did not write."""
    return msgspec.json.decode(text, type=kind, dec_hook=_read_hook)


def _read_hook(kind: type, value: object) -> object:
    if kind is Instant and isinstance(value, datetime):
        return Instant.of(value)
    if kind is Instant and isinstance(value, str):
        return Instant.parse(value)
    raise ValueError(f"Expected a time, got `{type(value).__name__}`")


def _write_hook(value: object) -> object:
    if isinstance(value, Instant):
        return value.text()
    raise TypeError(f"{type(value).__name__} is not part of a specification")


def _plain(value: object, faults: Faults, depth: int = 0) -> object:
    if depth > bounds.JSON_DEPTH:
        faults.add(f"is nested deeper than {bounds.JSON_DEPTH}")
        return None
    if isinstance(value, Mapping):
        return {_key(key, faults): _plain(item, faults, depth + 1) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item, faults, depth + 1) for item in value]
    return value


def _key(key: object, faults: Faults) -> str:
    if isinstance(key, str):
        return key
    if isinstance(key, int) and not isinstance(key, bool):
        return str(key)
    faults.add("a key must be text: YAML reads an unquoted yes, no, on, off or null as something else", key)
    return str(key)


def _note(text: str, value: object, kind: type, faults: Faults) -> None:
    match = _PLACE.fullmatch(text)
    reason, place = (match[1], match[2] or "") if match else (text, "")
    unknown = _UNKNOWN.fullmatch(reason)
    if unknown:
        faults.at_path("$" + place).add(_unknown(unknown[1], _kind_at(kind, place)))
    else:
        hint = _QUOTES if reason.startswith("Expected `str") else ""
        faults.at_path("$" + place).add(reason + hint, _value_at(value, place))


def _unknown(key: str, kind: Any) -> str:
    known = [field.encode_name for field in msgspec.structs.fields(kind)]
    near = difflib.get_close_matches(key, known, 1)
    meant = f"did you mean `{near[0]}`?" if near else f"known here are {', '.join(known)}"
    return f"unknown key `{key}`: {meant}"


def _kind_at(kind: Any, place: str) -> Any:
    for step in _STEP.finditer(place):
        fields = {field.encode_name: field.type for field in msgspec.structs.fields(kind)}
        kind = _struct_in(fields[step[1]]) if step[1] in fields else kind
    return kind


def _struct_in(kind: Any) -> Any:
    parts = (kind, *getattr(kind, "__args__", ()))
    return next(part for part in parts if isinstance(part, type) and issubclass(part, msgspec.Struct))


def _value_at(value: object, place: str) -> object:
    for step in _STEP.finditer(place):
        name, index, anything = step.groups()
        if anything or not isinstance(value, dict | list):
            return None
        try:
            value = value[int(index)] if isinstance(value, list) else value[name]
        except (LookupError, ValueError, TypeError):
            return None
    return value
