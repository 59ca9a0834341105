"""One request from bytes, without any I/O: h11, and around it the bounds that h11 does not keep."""

from __future__ import annotations

from typing import Final

import h11

from tenure_contracts.error import Refusal
from tenure_http.head import check_block, inspect_head, too_large
from tenure_http.limits import Limits
from tenure_http.message import Head

# h11 says by status what is not simply malformed.
_CODES: Final = {431: "header_too_large", 501: "not_available"}


class RequestParser:
    """Takes the bytes of one request as they arrive, first those of its head, then those of its body.

    A parser serves one request: a fresh `h11.Connection` is cheaper than a used one brought to its start.
    After a refusal it must not be fed again. Empty data is the end of the stream.
    """

    __slots__ = ("_body", "_chunks", "_h11", "_head", "_limits", "_peer", "_received", "_whole")

    def __init__(self, limits: Limits, peer: str = "") -> None:
        self._limits = limits
        self._peer = peer
        self._h11 = h11.Connection(h11.SERVER, limits.header_bytes)
        self._received = bytearray()
        self._body: bytearray | bytes | None = None
        self._chunks = 0
        self._head: Head | None = None
        self._whole = False

    def receive_head(self, data: bytes | bytearray) -> Head | None:
        """The head when `data` completes it, None when more is needed.

        Raises:
            Refusal: the request cannot be served and nothing after it can be understood.
        """
        self._received += data
        check_block(self._received, self._limits)
        self._h11.receive_data(bytes(data))
        event = self._next_event()
        if not isinstance(event, h11.Request):
            return None
        block = bytes(self._received[: len(self._received) - len(self._h11.trailing_data[0])])
        self._head = inspect_head(event, block, self._limits, self._peer)
        return self._head

    def receive_body(self, data: bytes | bytearray | None, body_bytes: int) -> bytes | None:
        """The body when `data` completes it, None when more is needed; `data` None looks at what is there.

        Raises:
            Refusal: `content_too_large` beyond `body_bytes` or too many chunks; `malformed_request`.
        """
        if data is not None:
            self._h11.receive_data(bytes(data))
        elif self._head is not None and self.body_is_here(self._head):
            return self._take_whole(body_bytes)
        while True:
            event = self._next_event()
            if isinstance(event, h11.Data):
                self._take(event, body_bytes)
            else:
                return bytes(self._body or b"") if isinstance(event, h11.EndOfMessage) else None

    def body_is_here(self, head: Head) -> bool:
        """Whether the bytes received end exactly with this request, so that another may follow."""
        return not head.chunked and len(self._h11.trailing_data[0]) == (head.content_length or 0)

    @property
    def has_tail(self) -> bool:
        """Whether bytes beyond the request have arrived: the peer did not wait for its answer."""
        return not self._whole and bool(self._h11.trailing_data[0])

    @property
    def peer_awaits_continue(self) -> bool:
        """Whether the peer holds its body back until it is asked for."""
        return self._h11.they_are_waiting_for_100_continue

    def _take_whole(self, body_bytes: int) -> bytes:
        # The rule: head and body came together and nothing else did. Events would say the same for a fifth
        # of the time that the whole request takes h11.
        self._whole = True
        body = bytes(self._h11.trailing_data[0])
        if len(body) > body_bytes:
            raise too_large(body_bytes)
        return body

    def _take(self, event: h11.Data, body_bytes: int) -> None:
        # Ends, not starts: h11 says no start when the size of a chunk arrives without its first byte.
        self._chunks += event.chunk_end
        if self._chunks > self._limits.chunks:
            raise Refusal("content_too_large", f"The body may have at most {self._limits.chunks} chunks.")
        # One event is the rule: its bytes are kept as they are. More are appended in place.
        if self._body is None:
            self._body = event.data
        else:
            self._body += event.data
        if len(self._body) > body_bytes:
            raise too_large(body_bytes)

    def _next_event(self) -> object:
        try:
            return self._h11.next_event()
        except h11.RemoteProtocolError as error:
            code = _CODES.get(error.error_status_hint, "malformed_request")
            # Without its cause, which quotes the peer's bytes: they may be a credential.
            raise Refusal(code, _detail(code)) from None


def _detail(code: str) -> str:
    if code == "not_available":
        return "The only transfer coding here is chunked."
    return ""
