"""What has to be seen: a model that never reaches an answer proves nothing about it."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

PROVEN: Final = "session_fenced lease_fenced invalid_field unknown_attempt"
"""What every report about one attempt may be refused with."""

ANSWERS: Final = {
    "register": "online draining session_fenced content_conflict session_conflict",
    "heartbeat": "online draining session_fenced",
    "drain": "draining session_fenced",
    "offline": "offline session_fenced",
    "leases": "some none session_fenced",
    "offers": "offered recovered settled no_work no_match at_limit draining session_fenced",
    "decline": "released fenced session_fenced",
    "starting": f"{PROVEN} applied replayed lease_expired stop_requested attempt_settled",
    "running": f"{PROVEN} applied replayed lease_not_started handle_conflict content_conflict"
    " attempt_settled",
    "start-failure": f"{PROVEN} applied replayed lease_not_started already_started content_conflict"
    " attempt_settled failed-failed failed-retry_wait cancelled-cancelled",
    "renew": "renewed stop late fenced-stop terminal-settled terminal-stop terminal-stop-cancelled"
    " session_fenced",
    "complete": f"{PROVEN} applied replayed settled late lease_not_started content_conflict"
    " succeeded-succeeded failed-failed failed-retry_wait timed_out-timed_out timed_out-retry_wait"
    " cancelled-cancelled",
    "attest": "recorded replayed adopted stop settled lease_not_started lease_fenced unknown_attempt"
    " session_fenced content_conflict attestation_conflict",
    "exchange": "items",
    "beside": "recovery retry cancellation cancel lose state never_started",
}


def unseen(seen: Collection[tuple[str, str]]) -> list[str]:
    """What is in the table and was not seen."""
    wanted = {(call, answer) for call, answers in ANSWERS.items() for answer in answers.split()}
    return [f"{call} {answer}" for call, answer in sorted(wanted - set(seen))]
