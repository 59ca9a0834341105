-- What a request id did when it was first seen.
SELECT a.actor, a.action, a.object FROM tenure.security_audit_events a WHERE a.request_id = $1::uuid
