-- A page of queued task runs without an attempt that could be executed.
SELECT r.run FROM tenure.runs r
WHERE r.status = 'queued' AND r.kind = 'task' AND r.cancel_requested_at IS NULL
  AND r.run > coalesce($1::uuid, '00000000-0000-0000-0000-000000000000')
  AND NOT EXISTS (SELECT FROM tenure.run_attempts a
                  WHERE a.run = r.run AND a.status IN ('claimed', 'starting', 'running'))
ORDER BY r.run
LIMIT $2::int
