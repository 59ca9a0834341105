-- The version of a worker's credential that counts.
SELECT c.credential, c.worker, c.version, c.state, c.created_at, c.expires_at, c.first_used_at
FROM tenure.worker_credentials c
WHERE c.credential = $1::text AND c.worker = $2::text
ORDER BY c.version DESC
LIMIT 1
