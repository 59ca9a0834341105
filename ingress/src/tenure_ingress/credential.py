"""Who a request says it is, what that costs when it is wrong, and what became of it."""

from __future__ import annotations

from typing import Final

from tenure_contracts.error import Refusal
from tenure_contracts.identity import IdentityError, Token, is_worker_token, parse_worker_token
from tenure_http import Head
from tenure_ingress.budget import FailureBudget
from tenure_ingress.refusal import Refusals

REFUSED: Final = "credential_refused"

_JUDGED: Final = (404, 409)
"""Statuses that an operation has from the database alone, which accepts the credential first."""


def read_token(head: Head) -> Token:
    """The id and the secret's digest of a request's token; the secret itself goes no further than here.

    Raises Refusal `credential_required` when there is none, and `credential_refused` when it has not the form
    of one, which is also the answer to a wrong secret and to an unknown id.
    """
    try:
        return parse_worker_token(_bearer(head))
    except IdentityError:
        # Without its cause: nothing of what was sent belongs into a traceback.
        raise Refusal(REFUSED) from None


def check_form(head: Head) -> None:
    """Raise the Refusal that `read_token` would raise, without the work of reading."""
    if not is_worker_token(_bearer(head)):
        raise Refusal(REFUSED)


def _bearer(head: Head) -> str:
    scheme, _, text = (head.header("authorization") or "").partition(" ")
    if scheme.lower() != "bearer" or not text:
        raise Refusal("credential_required", "Send `Authorization: Bearer tw1_<id>_<secret>`.")
    return text.strip()


def proves_caller(answer: object) -> bool:
    """Whether an operation's answer, or its Refusal, says that the database accepted the credential."""
    return not isinstance(answer, Refusal) or answer.status in _JUDGED


class Guard:
    """Stands before authentication, which the database does, and hears what came of it."""

    def __init__(self, budget: FailureBudget, refusals: Refusals) -> None:
        self._budget = budget
        self._refusals = refusals

    def admit(self, head: Head) -> None:
        """Before the body: refuse who failed too often, and who presents nothing that could be a token.

        Raises Refusal `too_many_failures`, `credential_required` or `credential_refused`.
        """
        if self._budget.wait_s(head.peer):
            self._check(head, _token_of(head))
        try:
            check_form(head)
        except Refusal as refusal:
            self._failed(head, refusal, None)
            raise

    def hear(self, head: Head, token: Token, answer: object) -> None:
        """After an operation: count that the credential was accepted, or that it was refused.

        `answer` is what the operation answered, or the Refusal that it raised.
        """
        if proves_caller(answer):
            self._budget.accepted(head.peer, token)
        elif isinstance(answer, Refusal) and answer.code == REFUSED:
            self._failed(head, answer, token)

    def _check(self, head: Head, token: Token | None) -> None:
        try:
            self._budget.check(head.peer, token)
        except Refusal as refusal:
            self._refusals.count(refusal.code, head.peer, token)
            raise

    def _failed(self, head: Head, refusal: Refusal, token: Token | None) -> None:
        self._budget.failed(head.peer, token)
        self._refusals.count(refusal.code, head.peer, token)


def _token_of(head: Head) -> Token | None:
    try:
        return read_token(head)
    except Refusal:
        return None
