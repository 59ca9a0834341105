"""The one error of this package."""

from __future__ import annotations


class EmbeddedServerError(Exception):
    """The embedded server cannot be found, prepared or started; the message says what to do."""
