-- Takes the versions of a worker's credential.
SELECT c.version FROM tenure.worker_credentials c
WHERE c.credential = $1::text AND c.worker = $2::text
ORDER BY c.version FOR NO KEY UPDATE
