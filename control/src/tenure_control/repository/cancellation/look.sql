-- A page of task runs with a cancel intent that have not ended.
SELECT r.run FROM tenure.runs r
WHERE r.cancel_requested_at IS NOT NULL AND r.finished_at IS NULL AND r.kind = 'task'
  AND r.run > coalesce($1::uuid, '00000000-0000-0000-0000-000000000000')
ORDER BY r.run
LIMIT $2::int
