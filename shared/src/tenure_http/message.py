"""What a handler gets and what it gives: requests and responses, free of any transport."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Final
from urllib.parse import parse_qsl
from uuid import uuid4

from tenure_contracts.error import Refusal

JSON: Final = "application/json"

_STATUSES: Final = frozenset(int(status) for status in HTTPStatus if status >= 200) - {204, 205, 304}


def new_request_id() -> str:
    """A fresh identifier for one request, known to the log and to the answer."""
    return str(uuid4())


@dataclass(slots=True, eq=False)
class Head:
    """A request up to its body, checked and well formed.

    `headers` has lower-case names; repeated list headers are joined. It holds credentials, so it is never
    shown in a representation. `peer` is the transport address without the port, empty when it has none.
    """

    method: str
    target: str
    path: str
    query_string: str
    headers: Mapping[bytes, bytes] = field(repr=False)
    peer: str
    content_length: int | None
    chunked: bool
    keep_alive: bool
    _id: str | None = None

    @property
    def id(self) -> str:
        """An identifier of this request for logs and refusals, made when first asked for."""
        if self._id is None:
            self._id = new_request_id()
        return self._id

    def adopt_id(self, request_id: str) -> None:
        """From now on the request goes by `request_id`."""
        self._id = request_id

    @property
    def query(self) -> dict[str, str]:
        """The decoded query.

        Raises:
            Refusal: `malformed_request` for a query that is no list of `name=value` or repeats a name.
        """
        try:
            pairs = parse_qsl(self.query_string, keep_blank_values=True, strict_parsing=True, errors="strict")
        except ValueError as error:
            if not self.query_string:
                return {}
            raise Refusal("malformed_request", "The query is not a list of name=value.") from error
        query = dict(pairs)
        if len(query) != len(pairs):
            raise Refusal("malformed_request", "The query repeats a name.")
        return query

    def header(self, name: str) -> str | None:
        """The value of the header `name` (any case), or None."""
        value = self.headers.get(name.lower().encode("ascii"))
        return None if value is None else value.decode("latin-1")


@dataclass(slots=True, eq=False)
class Request:
    """One request with its whole body. `route` is the name of its route, `parameters` those of the path.

    `wait` is what its connection does while the request waits; without one there is nothing to do.
    """

    head: Head
    route: str
    parameters: Mapping[str, str]
    body: bytes = field(repr=False)
    wait: Callable[[], AbstractAsyncContextManager[None]] = field(default=nullcontext, repr=False)

    @property
    def id(self) -> str:
        """The identifier of this request for logs and refusals."""
        return self.head.id

    def adopt_id(self, request_id: str) -> None:
        """From now on the request goes by the identifier that its sender gave it in the body."""
        self.head.adopt_id(request_id)

    @property
    def method(self) -> str:
        """The method, as sent."""
        return self.head.method

    @property
    def path(self) -> str:
        """The path, not percent-decoded."""
        return self.head.path

    @property
    def peer(self) -> str:
        """The transport address of the peer."""
        return self.head.peer

    @property
    def query(self) -> dict[str, str]:
        """The decoded query; refuses as `Head.query` does."""
        return self.head.query

    def header(self, name: str) -> str | None:
        """The value of the header `name` (any case), or None."""
        return self.head.header(name)

    def waiting(self) -> AbstractAsyncContextManager[None]:
        """`async with request.waiting():` around a wait for something outside, which may be long.

        For the block the request is not in flight: what waits is bounded by the bound of connections alone.
        A drain waits for it as for any other. When the peer goes away, the handler is cancelled at once,
        nothing is answered and the connection is closed. A peer that closes only its own half has gone, too:
        the two look alike. When it sends more, that is dropped and the answer says `Connection: close`;
        beyond 256 KiB it is taken for gone.

        One block at a time. Entering does not wait, leaving waits for one turn of the scheduler.
        """
        return self.wait()


@dataclass(frozen=True, slots=True)
class Response:
    """A whole answer. Framing, `Date` and `Connection` belong to the server.

    Raises:
        ValueError: for a status that has no body, or a header that would break the framing.
    """

    status: int
    body: bytes = field(repr=False)
    content_type: str = JSON
    headers: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        if self.status not in _STATUSES:
            raise ValueError(f"status {self.status} is not one that carries a body")
        for name, value in (*self.headers, ("Content-Type", self.content_type)):
            if not (name + value).isprintable() or not (name + value).isascii():
                raise ValueError(f"header {name} has characters that no header may have")
