"""What a worker states about attempts of its own: they run, or they do not run any more."""

from __future__ import annotations

from uuid import UUID

import msgspec

from tenure_contracts.error import Refusal
from tenure_contracts.identity import Token
from tenure_contracts.payload import sanitise_output
from tenure_contracts.wire.attestation import Attest, Attested, AttestedLease, AttestedOutcome
from tenure_contracts.wire.codec import content_digest, encode
from tenure_contracts.wire.completion import error_report
from tenure_contracts.wire.field import Instant, instant
from tenure_ingress.operation.activation import stop_of
from tenure_ingress.operation.service import DETAILS, Service, check
from tenure_ingress.repository import call
from tenure_ingress.repository.row import AttestationRow


async def attest(service: Service, token: Token, session: UUID, message: Attest) -> Attested:
    """Record a statement; `running` from a live session moves the lease to it.

    Refusal `attestation_conflict`, with the last known sequence, when this one is not the next.
    """
    outcome = None if message.outcome is None else _storable(message.outcome)
    unit = call.attest(token, session, message, content_digest(message), outcome, service.settings.lease_s)
    (row,) = await service.rows(unit)
    if row["refusal"] == "attestation_conflict":
        detail = DETAILS["attestation_conflict"]
        raise Refusal("attestation_conflict", detail, last_sequence=row["last_sequence"])
    check(row)
    service.work_ended()
    return _attested(message, row)


def _attested(message: Attest, row: AttestationRow) -> Attested:
    return Attested(
        status=row["status"],
        sequence=message.sequence,
        lease=_lease(row),
        stop=stop_of(row),
        disposition=row["disposition"],
        deadline_at=instant(row["deadline_at"]),
        server_time=Instant.of(row["server_time"]),
    )


def _lease(row: AttestationRow) -> AttestedLease | None:
    version, expires_at = row["lease_version"], row["expires_at"]
    if version is None or expires_at is None:
        return None
    return AttestedLease(lease_version=version, expires_at=Instant.of(expires_at))


def _storable(outcome: AttestedOutcome) -> str:
    """The outcome as JSON text; as in a completion, nothing that a program said is a reason to refuse it."""
    output, flag = sanitise_output(bytes(outcome.output))
    facts: dict[str, object] = {
        "outcome": outcome.outcome,
        "exit_code": outcome.exit_code,
        "started_at": outcome.started_at,
        "finished_at": outcome.finished_at,
        "output": None if output is None else msgspec.Raw(output.encode()),
        "output_flag": flag,
        "error": error_report(outcome.error),
    }
    return encode({name: fact for name, fact in facts.items() if fact is not None}).decode()
