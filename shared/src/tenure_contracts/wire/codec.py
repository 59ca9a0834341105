"""Reading and writing messages: the one border where msgspec's errors become refusals.

JSON rules: UTF-8; of a key that occurs twice the last one wins (as in PostgreSQL's jsonb, so that every
reader of one text agrees); numbers keep their text inside user JSON. Only the first fault is reported.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Iterable
from typing import Any, Final, TypeVar, cast
from uuid import UUID

import msgspec

from tenure_contracts.error import Refusal
from tenure_contracts.payload import mend
from tenure_contracts.wire.field import Instant

T = TypeVar("T")

_HIDDEN: Final = {"token", "data", "output"}
"""Fields whose value is never shown, so that a message in a log or a traceback tells no secret."""


class Request(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A body sent to a server: a key it does not know is a mistake of the sender."""

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={_shown(name, getattr(self, name))}" for name in self.__struct_fields__)
        return f"{type(self).__name__}({shown})"


class Report(Request, frozen=True, kw_only=True):
    """A request that carries what a program said. It is never refused for that part: see `payload`."""


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """A body sent by a server: keys that a reader does not know were added later."""


def decode(body: bytes, message: type[T]) -> T:
    """Read one body. Raises Refusal `invalid_json`, `unknown_field` or `invalid_field` with the JSON path."""
    try:
        return cast(T, decode_union(body, message))
    except Refusal as refusal:
        if refusal.code != "invalid_json" or not issubclass(message, Report):
            raise
    return cast(T, decode_union(mend(body), message))


def decode_union(body: bytes, message: Any) -> Any:
    """`decode` for a tagged union of messages, whose type has no name; bodies are never mended here."""
    try:
        return _decoder(message).decode(body)
    except msgspec.ValidationError as error:
        raise _shape_refusal(str(error)) from error
    except RecursionError as error:
        raise Refusal("invalid_json", "The body is nested too deeply.") from error
    except (msgspec.DecodeError, UnicodeError) as error:
        raise Refusal("invalid_json", _syntax_detail(body, str(error))) from error


def encode(message: Any) -> bytes:
    """Write one message. Times come out in UTC with microseconds."""
    return _ENCODER.encode(message)


def content_digest(message: Request) -> bytes:
    """What a replay must repeat: SHA-256 over the request without what may differ between two sendings.

    `request_id` names the sending; `lease.lease_version` rises when the lease is renewed in between; the
    session `generation` is another one when a restarted worker repeats what its journal holds. Key
    order, spaces and the spelling of times do not count either.
    """
    content = msgspec.to_builtins(message, enc_hook=_write_hook, builtin_types=(UUID,))
    for sending in ("request_id", "generation"):
        content.pop(sending, None)
    lease = content.get("lease")
    if isinstance(lease, dict):
        lease.pop("lease_version", None)
    kind = type(message).__name__.encode()
    return hashlib.sha256(b"tenure/content\0" + kind + b"\0" + _SORTED.encode(content)).digest()


def schemas(messages: Iterable[Any]) -> tuple[tuple[dict[str, Any], ...], dict[str, Any]]:
    """References and JSON Schema components (OpenAPI 3.1) of these messages, in their order."""
    return msgspec.json.schema_components(
        messages, schema_hook=_schema_hook, ref_template="#/components/schemas/{name}"
    )


def request_id_of(body: bytes) -> UUID | None:
    """The request id of a body that may be wrong elsewhere, for the problem document and the log."""
    try:
        return _PEEK.decode(body).request_id
    except (msgspec.MsgspecError, RecursionError, UnicodeError):
        return None


def _shown(name: str, value: object) -> str:
    return "…" if name in _HIDDEN else repr(value)


class _Peek(msgspec.Struct):
    request_id: UUID | None = None


_PEEK: Final = msgspec.json.Decoder(_Peek)


def _schema_hook(kind: type) -> dict[str, Any]:
    if kind is not Instant:
        raise TypeError(f"{kind.__name__} is not part of any message")
    return {"type": "string", "format": "date-time"}


def _write_hook(value: object) -> object:
    if isinstance(value, Instant):
        return value.text()
    if isinstance(value, msgspec.Raw):
        return _portable(value)
    raise TypeError(f"{type(value).__name__} is not part of any message")


def _portable(raw: msgspec.Raw) -> object:
    try:
        return msgspec.json.decode(raw)
    except (msgspec.MsgspecError, RecursionError, UnicodeError):
        return hashlib.sha256(raw).hexdigest()


def _read_hook(kind: type, value: object) -> object:
    if kind is not Instant:
        raise TypeError(f"{kind.__name__} is not part of any message")
    if not isinstance(value, str):
        raise ValueError(f"Expected a time as text, got `{type(value).__name__}`")  # noqa: TRY004 - becomes a refusal
    return Instant.parse(value)


@functools.cache
def _decoder(message: Any) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(message, dec_hook=_read_hook)


_ENCODER: Final = msgspec.json.Encoder(enc_hook=_write_hook)
_SORTED: Final = msgspec.json.Encoder(order="sorted")


def _shape_refusal(text: str) -> Refusal:
    # msgspec tells an unknown key from a wrong value by its text alone; a table test pins the text.
    code = "unknown_field" if "contains unknown field" in text else "invalid_field"
    return Refusal(code, text if " - at `" in text else f"{text} - at `$`")


def _syntax_detail(body: bytes, reason: str) -> str:
    if not body:
        return "The body is empty."
    try:
        body.decode()
    except UnicodeDecodeError as error:
        return f"The body is not UTF-8: byte {error.start}."
    return reason
