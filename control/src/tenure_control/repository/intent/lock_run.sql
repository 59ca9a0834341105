-- Locks one run of a project; waits for whoever holds it.
SELECT r.status, r.finished_at IS NOT NULL AS ended FROM tenure.runs r
WHERE r.project = $1::text AND r.run = $2::uuid FOR NO KEY UPDATE
