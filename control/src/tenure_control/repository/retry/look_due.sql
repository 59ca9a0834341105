-- Runs whose next try is due, oldest first, without those that are to be cancelled.
SELECT r.run FROM tenure.runs r
WHERE r.status = 'retry_wait' AND r.next_attempt_at <= (SELECT tenure.clock())
  AND r.kind = 'task' AND r.cancel_requested_at IS NULL
ORDER BY r.next_attempt_at, r.run
LIMIT $1::int
