-- Locks the active attempt of a run whose lock the caller holds.
SELECT a.attempt FROM tenure.run_attempts a
WHERE a.run = $1::uuid AND a.status IN ('claimed', 'starting', 'running')
ORDER BY a.attempt FOR NO KEY UPDATE
