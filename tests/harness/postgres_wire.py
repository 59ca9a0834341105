"""As much of the PostgreSQL wire protocol as it takes to see a statement go by.

A message is a type byte, a length that counts itself, and a body. Only the first message of a client has no
type.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

SSL_REQUEST = b"\x04\xd2\x16\x2f"
READY_FOR_QUERY = b"Z"
PARSE, BIND, QUERY = b"P", b"B", b"Q"


@dataclass
class MessageReader:
    """Cuts a byte stream into (type, body); `untyped` messages come first and have the type b''."""

    untyped: int = 0
    _buffer: bytearray = field(default_factory=bytearray)

    def feed(self, data: bytes) -> Iterator[tuple[bytes, bytes]]:
        """The messages that these bytes complete."""
        self._buffer += data
        while (message := self._cut()) is not None:
            yield message

    def _cut(self) -> tuple[bytes, bytes] | None:
        head = 0 if self.untyped else 1
        if len(self._buffer) < head + 4:
            return None
        end = head + int.from_bytes(self._buffer[head : head + 4])
        if len(self._buffer) < end:
            return None
        kind, body = bytes(self._buffer[:head]), bytes(self._buffer[head + 4 : end])
        del self._buffer[:end]
        if self.untyped and body[:4] != SSL_REQUEST:
            self.untyped -= 1
        return kind, body


@dataclass
class StatementWatch:
    """Follows what a client sends, and knows which statement is being executed."""

    reader: MessageReader = field(default_factory=lambda: MessageReader(untyped=1))
    prepared: dict[bytes, str] = field(default_factory=dict)

    def executed(self, data: bytes) -> list[str]:
        """The statements whose execution these bytes ask for."""
        return [text for kind, body in self.reader.feed(data) if (text := self._statement(kind, body))]

    def _statement(self, kind: bytes, body: bytes) -> str | None:
        if kind == QUERY:
            return body.rstrip(b"\0").decode()
        if kind == PARSE:
            name, text, _ = body.split(b"\0", 2)
            self.prepared[name] = text.decode()
        if kind == BIND:
            _portal, name, _ = body.split(b"\0", 2)
            return self.prepared.get(name)
        return None
