"""How an attempt ended."""

from __future__ import annotations

import msgspec

from tenure_contracts.wire.codec import content_digest
from tenure_contracts.wire.completion import Complete, Completed, completion_payload
from tenure_contracts.wire.field import Instant
from tenure_ingress.operation.service import Service
from tenure_ingress.repository.acknowledgement import Acknowledgement
from tenure_ingress.repository.caller import Caller
from tenure_ingress.repository.row import CompletionRow


async def complete(service: Service, caller: Caller, message: Complete) -> Completed:
    """Settle the attempt with what its holder reports. Never refused for its payload, which is repaired."""
    payload = completion_payload(message)
    facts = (
        message.outcome,
        message.exit_code,
        message.started_at,
        message.finished_at,
        payload.output,
        payload.output_flag,
        payload.error and payload.error.code,
        payload.error and payload.error.message,
        payload.log and msgspec.json.encode(payload.log).decode(),
        message.stop_answer,
    )
    item = Acknowledgement(caller, message.lease, content_digest(message), facts)
    row: CompletionRow = await service.acknowledge("complete", item)
    service.work_ended()
    return Completed(
        status=row["status"],
        late=row["late"],
        output_flag=row["output_flag"],
        attempt_status=row["attempt_status"],
        run_status=row["run_status"],
        server_time=Instant.of(row["server_time"]),
    )
