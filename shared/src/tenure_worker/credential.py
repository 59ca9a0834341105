"""The worker's bearer token, from an argument or from a file that may change under a running worker."""

from __future__ import annotations

import os
from pathlib import Path

import structlog

from tenure_contracts.identity import IdentityError, parse_worker_token
from tenure_worker.error import ConfigurationError

log = structlog.get_logger("tenure.worker")


class Credential:
    """A token that never shows itself in a repr. The file, if any, is looked at again before each use."""

    def __init__(self, *, token: str | None = None, file: Path | None = None) -> None:
        self._file = file
        self._seen: object = None
        self._token = "" if token is None else _checked(token, "the token given")
        if file is not None:
            self._seen, self._token = _fingerprint(file), _read(file)
        elif token is None:
            raise ConfigurationError(
                "A worker needs its credential: TENURE_WORKER_TOKEN or --credential-file."
            )

    def bearer(self) -> str:
        """The current value of the Authorization header; a file that went bad leaves the older token."""
        if self._file is not None:
            self._reread(self._file)
        return f"Bearer {self._token}"

    def _reread(self, file: Path) -> None:
        try:
            fingerprint = _fingerprint(file)
            if fingerprint == self._seen:
                return
            self._seen = fingerprint
            self._token = _read(file)
        except ConfigurationError as error:
            log.warning("credential_file_unusable", reason=str(error))
        else:
            log.info("credential_file_read_again", file=str(file))


def _fingerprint(file: Path) -> tuple[int, int, int] | None:
    try:
        stat = file.stat()
    except OSError:
        return None
    return stat.st_ino, stat.st_mtime_ns, stat.st_size


def _read(file: Path) -> str:
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_CLOEXEC)
        with os.fdopen(descriptor, encoding="ascii", errors="replace") as stream:
            mode = os.fstat(descriptor).st_mode & 0o777
            text = stream.read(4096).strip()
    except OSError as error:
        raise ConfigurationError(f"The credential file {file} cannot be read: {error.strerror}.") from error
    if mode & 0o077:
        raise ConfigurationError(f"The credential file {file} has mode {mode:04o}: chmod it to 0600.")
    return _checked(text, f"the content of {file}")


def _checked(token: str, what: str) -> str:
    try:
        parse_worker_token(token.strip())
    except IdentityError as error:
        raise ConfigurationError(f"Not a worker token: {what} ({error}).") from error
    return token.strip()
