-- A page of workflow runs that are not finished.
SELECT r.run FROM tenure.runs r
WHERE r.kind = 'workflow' AND r.finished_at IS NULL
  AND r.run > coalesce($1::uuid, '00000000-0000-0000-0000-000000000000')
ORDER BY r.run
LIMIT $2::int
