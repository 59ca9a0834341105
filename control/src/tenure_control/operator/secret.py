"""New secrets: shown once to whoever asked, known to the database as a digest alone."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from tenure_contracts.identity import SECRET_BYTES, secret_digest

_ID_CHARACTERS: Final = "0123456789abcdefghijklmnopqrstuvwxyz"
_ID_LENGTH: Final = 16


@dataclass(frozen=True, slots=True)
class Secret:
    """The token to show, the digest to store."""

    token: str = field(repr=False)
    digest: bytes = field(repr=False)


def new_id() -> str:
    """An id for a credential or an operator's token."""
    return "".join(secrets.choice(_ID_CHARACTERS) for _ in range(_ID_LENGTH))


def new_secret(domain: str, token: Callable[[str, bytes], str], id_: str) -> Secret:
    """A new secret of the credential or token `id_`, written as `token` writes it, digested for `domain`."""
    raw = secrets.token_bytes(SECRET_BYTES)
    return Secret(token(id_, raw), secret_digest(domain, raw))
