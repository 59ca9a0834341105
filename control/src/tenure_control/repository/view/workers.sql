-- Workers by name, each with its current session: one ($1), or a page after a name ($2).
SELECT w.worker, s.session, s.generation, s.status, s.labels::text AS labels, s.executors, s.handlers,
       s.lease_limit, s.agent, s.registered_at, s.seen_at, s.expires_at, s.ended_at,
       s.drain_requested_at IS NOT NULL AS drain_requested, NULL::uuid AS replaced_by,
       (SELECT count(*)::int FROM tenure.run_leases l
        WHERE l.session = s.session AND l.state = 'leased') AS leases
FROM tenure.workers w
LEFT JOIN tenure.worker_sessions s
  ON s.worker = w.worker AND s.status IN ('online', 'draining', 'offline')
WHERE ($1::text IS NULL OR w.worker = $1::text)
  AND w.worker > coalesce($2::text, '')
ORDER BY w.worker
LIMIT $3::int
