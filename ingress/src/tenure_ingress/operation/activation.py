"""The start barrier and what follows it: starting, running, start-failure."""

from __future__ import annotations

from tenure_contracts.wire.codec import content_digest
from tenure_contracts.wire.completion import error_report
from tenure_contracts.wire.field import Instant, instant
from tenure_contracts.wire.lease import Activated, Running, StartFailure, Starting, Stop
from tenure_ingress.operation.service import Service
from tenure_ingress.repository.acknowledgement import Acknowledgement, Name
from tenure_ingress.repository.caller import Caller
from tenure_ingress.repository.row import ActivationRow, StopColumns

NOT_SPAWNED = ("not_spawned", "The worker did not say why.")


async def starting(service: Service, caller: Caller, message: Starting) -> Activated:
    """Cross the barrier: only after the answer may the process be started."""
    return await _activate(service, "starting", caller, message)


async def running(service: Service, caller: Caller, message: Running) -> Activated:
    """The process exists."""
    return await _activate(service, "running", caller, message, message.executor_handle, message.started_at)


async def start_failure(service: Service, caller: Caller, message: StartFailure) -> Activated:
    """Proven not spawned."""
    error = error_report(message.error)
    code, text = NOT_SPAWNED if error is None else (error.code, error.message)
    activated = await _activate(service, "start_failure", caller, message, code, text)
    service.work_ended()
    return activated


def stop_of(row: StopColumns) -> Stop | None:
    """The stop that stands on a lease, if one does."""
    if row["stop_reason"] is None or row["stop_requested_at"] is None:
        return None
    return Stop(reason=row["stop_reason"], requested_at=Instant.of(row["stop_requested_at"]))


async def _activate(
    service: Service, name: Name, caller: Caller, message: Starting | Running | StartFailure, *facts: object
) -> Activated:
    item = Acknowledgement(caller, message.lease, content_digest(message), facts)
    row: ActivationRow = await service.acknowledge(name, item)
    return Activated(
        status=row["status"],
        attempt_status=row["attempt_status"],
        run_status=row["run_status"],
        lease_version=row["lease_version"],
        expires_at=instant(row["expires_at"]),
        deadline_at=instant(row["deadline_at"]),
        stop=stop_of(row),
        server_time=Instant.of(row["server_time"]),
    )
