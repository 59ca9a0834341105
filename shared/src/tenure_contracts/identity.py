"""Names, ids and credential tokens: their grammars, and the digests that stand for secrets.

A secret never leaves this module in the clear: parsing a token gives its id and the domain-separated
SHA-256 of its 32 random bytes, which is all that the database knows.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, field
from typing import Final
from uuid import UUID

from tenure_contracts import base64url

NAME_PATTERN: Final = r"[a-z0-9][a-z0-9._-]{0,62}"
CREDENTIAL_ID_PATTERN: Final = r"[a-z0-9]{8,32}"
SECRET_BYTES: Final = 32
SECRET_CHARACTERS: Final = 43

WORKER_SECRET_DOMAIN: Final = "tenure/worker-secret"  # noqa: S105 - a domain text, not a secret
OPERATOR_SECRET_DOMAIN: Final = "tenure/operator-secret"  # noqa: S105 - a domain text, not a secret
LEASE_TOKEN_DOMAIN: Final = "tenure/lease-token"  # noqa: S105 - a domain text, not a token

_NAME = re.compile(NAME_PATTERN)
_CREDENTIAL_ID = re.compile(CREDENTIAL_ID_PATTERN)
_WORKER_TOKEN = re.compile(f"tw1_{CREDENTIAL_ID_PATTERN}_[A-Za-z0-9_-]{{{SECRET_CHARACTERS}}}")
_UUID = re.compile(r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}")


class IdentityError(ValueError):
    """A name, id or token does not follow its grammar. The text never repeats a secret."""


def check_name(value: str, what: str = "name") -> str:
    """Return `value` when it is a name of `domain.md` §4, whole string; `what` is said in the error."""
    if not _NAME.fullmatch(value):
        raise IdentityError(
            f"{what} {value[:80]!r} is not a name: it must start with a lower-case letter or digit, "
            f"go on with those, '.', '_' or '-', and have at most 63 characters"
        )
    return value


def parse_uuid(value: str, what: str = "id") -> UUID:
    """Read a UUID in its canonical form of 36 characters; braces, URNs and bare hexadecimal are refused."""
    if not _UUID.fullmatch(value):
        raise IdentityError(
            f"{what} {value[:80]!r} is not a UUID such as 0190a3c8-5e0c-7f3a-9d51-2f6f0c3f1b77"
        )
    return UUID(value)


def derived_id(domain: str, *parts: str | int | bytes | UUID) -> UUID:
    """The id that every replay computes again from what it identifies.

    SHA-256 over the domain and the parts, each with its length before it, so that no two lists of
    parts read the same; marked as UUID version 8 ("custom"), because it is neither random nor time-ordered.
    """
    hasher = hashlib.sha256(domain.encode() + b"\0")
    for part in parts:
        content = part if isinstance(part, bytes) else str(part).encode()
        hasher.update(len(content).to_bytes(8, "big") + content)
    number = int.from_bytes(hasher.digest()[:16], "big")
    number = number & ~(0xF << 76) | (8 << 76)
    return UUID(int=number & ~(0x3 << 62) | (0x2 << 62))


@dataclass(frozen=True, slots=True)
class Token:
    """What a bearer token proves: a credential id, and the digest that the database compares."""

    id: str
    secret_digest: bytes = field(repr=False)


def worker_token(credential_id: str, secret: bytes) -> str:
    """The text of a worker's bearer token, shown once; `secret` is 32 random bytes."""
    return _token("tw1", credential_id, secret)


def operator_token(token_id: str, secret: bytes) -> str:
    """The text of an operator's bearer token, shown once; `secret` is 32 random bytes."""
    return _token("to1", token_id, secret)


def is_worker_token(text: str) -> bool:
    """Whether `parse_worker_token` would read it; a tenth of the work."""
    return _WORKER_TOKEN.fullmatch(text) is not None


def parse_worker_token(text: str) -> Token:
    """Read `tw1_<credential id>_<43 characters>`; raises IdentityError that does not repeat the text."""
    return _parse_token("tw1", WORKER_SECRET_DOMAIN, text)


def parse_operator_token(text: str) -> Token:
    """Read `to1_<token id>_<43 characters>`; raises IdentityError that does not repeat the text."""
    return _parse_token("to1", OPERATOR_SECRET_DOMAIN, text)


def lease_token_digest(token: str) -> bytes:
    """The digest of a lease token of 43 base64url characters, as stored with the lease."""
    return secret_digest(LEASE_TOKEN_DOMAIN, decode_secret(token))


def secret_digest(domain: str, secret: bytes) -> bytes:
    """SHA-256 over domain, a zero byte and the 32 raw bytes: a secret of one use is worthless for another."""
    return hashlib.sha256(domain.encode() + b"\0" + secret).digest()


def decode_secret(text: str) -> bytes:
    """The 32 bytes of 43 base64url characters without padding; the two spare bits are ignored."""
    try:
        secret = base64url.decode(text)
    except ValueError:
        secret = b""
    if len(text) != SECRET_CHARACTERS or len(secret) != SECRET_BYTES:
        raise IdentityError("a secret is 43 characters of base64url without padding")
    return secret


def encode_secret(secret: bytes) -> str:
    """The 43 base64url characters of 32 bytes."""
    if len(secret) != SECRET_BYTES:
        raise IdentityError(f"a secret has {SECRET_BYTES} bytes, not {len(secret)}")
    return base64url.encode(secret)


def _token(kind: str, token_id: str, secret: bytes) -> str:
    if not _CREDENTIAL_ID.fullmatch(token_id):
        raise IdentityError("a credential id is 8 to 32 lower-case letters and digits")
    return f"{kind}_{token_id}_{encode_secret(secret)}"


def _parse_token(kind: str, domain: str, text: str) -> Token:
    prefix, _, rest = text.partition("_")
    token_id, _, secret = rest.partition("_")
    if prefix != kind or not _CREDENTIAL_ID.fullmatch(token_id):
        raise IdentityError(f"the token does not have the form {kind}_<id>_<43 characters>")
    return Token(token_id, secret_digest(domain, decode_secret(secret)))
