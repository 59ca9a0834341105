-- Who presents this token, which roles they have for a project, and whether the project exists.
-- Digests of 256 random bits are compared, so that it does not matter how long that takes: see authenticate_worker.
SELECT t.operator,
       ARRAY(SELECT b.role FROM tenure.role_bindings b
             WHERE b.operator = t.operator AND b.project IN ('*', $3::text)) AS roles,
       $3::text = '*' OR EXISTS (SELECT FROM tenure.projects p WHERE p.project = $3::text) AS known
FROM tenure.operator_tokens t
WHERE t.token = $1::text
  AND t.digest = $2::bytea
  AND t.state = 'active'
  AND (t.expires_at IS NULL OR t.expires_at > (SELECT tenure.clock()))
