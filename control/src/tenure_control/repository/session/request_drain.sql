-- Asks the live session of a worker to drain; the first request stands. Returns the session, if there is one.
UPDATE tenure.worker_sessions s SET drain_requested_at = coalesce(s.drain_requested_at, tenure.clock())
WHERE s.worker = $1::text AND s.status IN ('online', 'draining')
RETURNING s.session
