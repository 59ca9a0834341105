"""What a server tells about itself, without knowing who counts it."""

from __future__ import annotations

import logging
from typing import Protocol

from tenure_http.message import Head
from tenure_http.place import Bound

_log = logging.getLogger("tenure_http")


class Observer(Protocol):
    """Hears what happens in a server. Methods are synchronous, cheap, and must not raise.

    `route` is the name of a route, or `-` when a request was answered before it had one: a bounded label.
    """

    def connection_opened(self) -> None:
        """A connection was taken."""

    def connection_closed(self) -> None:
        """A connection that was taken is closed."""

    def connection_turned_away(self, bound: Bound) -> None:
        """A connection was not taken: the bound of all connections or of its peer's is reached."""

    def handshake_failed(self, reason: str) -> None:
        """TLS did not come about; the reason in the words of OpenSSL, such as `CERTIFICATE_VERIFY_FAILED`."""

    def request_answered(self, head: Head | None, route: str, status: int, duration_s: float) -> None:
        """An answer was written. `head` is None when the request never had a well-formed one."""

    def request_refused(self, code: str, route: str) -> None:
        """The answer was, or will be, a problem document with this code."""

    def request_failed(self, head: Head, route: str, error: Exception) -> None:
        """A handler raised something that is no refusal: a bug, answered as `internal_error`."""


class LogObserver:
    """The least a server needs: bugs reach the log, nothing is counted."""

    def connection_opened(self) -> None:
        """Not counted."""

    def connection_closed(self) -> None:
        """Not counted."""

    def connection_turned_away(self, bound: Bound) -> None:
        """Not counted."""

    def handshake_failed(self, reason: str) -> None:
        """Not counted."""

    def request_answered(self, head: Head | None, route: str, status: int, duration_s: float) -> None:
        """Not counted."""

    def request_refused(self, code: str, route: str) -> None:
        """Not counted."""

    def request_failed(self, head: Head, route: str, error: Exception) -> None:
        """Logged with the request's id, which the answer carries too."""
        _log.error("request %s to %s failed", head.id, route, exc_info=error)
