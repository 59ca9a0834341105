-- The newest sessions of a worker, the current one among them: each with the one that replaced it.
SELECT s.session, s.generation, s.status, s.labels::text AS labels, s.executors, s.handlers, s.lease_limit, s.agent,
       s.registered_at, s.seen_at, s.expires_at, s.ended_at, s.drain_requested_at IS NOT NULL AS drain_requested,
       (SELECT n.session FROM tenure.worker_sessions n
        WHERE n.worker = s.worker AND n.generation > s.generation AND n.replaced_session = s.session
        ORDER BY n.generation LIMIT 1) AS replaced_by,
       (SELECT count(*)::int FROM tenure.run_leases l
        WHERE l.session = s.session AND l.state = 'leased') AS leases
FROM tenure.worker_sessions s
WHERE s.worker = $1::text
ORDER BY s.generation DESC
LIMIT $2::int
