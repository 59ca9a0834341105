-- Lost runs, which wait for the decision of their policy, without those that are to be cancelled.
SELECT r.run FROM tenure.runs r
WHERE r.status = 'lost' AND r.kind = 'task' AND r.cancel_requested_at IS NULL
ORDER BY r.run
LIMIT $1::int
