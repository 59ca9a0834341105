"""Who a request says it is: the bearer token of its Authorization header, reduced to id and digest."""

from __future__ import annotations

from tenure_contracts.error import Refusal
from tenure_contracts.identity import IdentityError, Token, parse_worker_token
from tenure_http import Head


def check_present(head: Head) -> None:
    """Refuse a request without a bearer token, before its body: Refusal `credential_required`."""
    if not (head.header("authorization") or "").lower().startswith("bearer "):
        raise Refusal("credential_required", "Send `Authorization: Bearer tw1_<id>_<secret>`.")


def read_token(head: Head) -> Token:
    """The id and the secret's digest of a request's token; the secret itself goes no further than here.

    Raises Refusal `credential_refused`, which is also the answer to a wrong secret and to an unknown id.
    """
    try:
        return parse_worker_token((head.header("authorization") or "").partition(" ")[2].strip())
    except IdentityError as error:
        raise Refusal("credential_refused") from error
