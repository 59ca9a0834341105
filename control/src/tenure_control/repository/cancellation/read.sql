-- One run that is to be cancelled, as stored now, with its active attempt.
SELECT r.status, r.cancel_requested_at IS NOT NULL AS cancelled, a.attempt, a.status AS attempt_status,
       (SELECT tenure.clock()) AS now
FROM tenure.runs r
LEFT JOIN tenure.run_attempts a ON a.run = r.run AND a.status IN ('claimed', 'starting', 'running')
WHERE r.run = $1::uuid
