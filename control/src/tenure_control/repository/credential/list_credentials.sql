-- A page of the credentials of a worker, each at the version that counts.
SELECT DISTINCT ON (c.credential) c.credential, c.worker, c.version, c.state, c.created_at, c.expires_at, c.first_used_at
FROM tenure.worker_credentials c
WHERE c.worker = $1::text AND c.credential > coalesce($2::text, '')
ORDER BY c.credential, c.version DESC
LIMIT $3::int
