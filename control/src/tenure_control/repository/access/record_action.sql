-- Writes the audit row of an effect that is about to happen; nothing when the request id was seen before.
INSERT INTO tenure.security_audit_events (at, actor, action, object, request_id, detail)
VALUES (tenure.clock(), $1::text, $2::text, $3::text, $4::uuid, $5::jsonb)
ON CONFLICT (request_id) WHERE request_id IS NOT NULL DO NOTHING
RETURNING event
