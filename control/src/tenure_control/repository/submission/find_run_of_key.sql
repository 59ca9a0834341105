-- The run that an idempotency key admitted.
SELECT r.run FROM tenure.runs r WHERE r.project = $1::text AND r.idempotency_key = $2::text
