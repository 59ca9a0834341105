-- A page of the projects in which an operator has a role.
SELECT p.project, p.state, p.weight, p.version, p.created_at
FROM tenure.projects p
WHERE p.project > coalesce($2::text, '')
  AND EXISTS (SELECT FROM tenure.role_bindings b
              WHERE b.operator = $1::text AND b.project IN ('*', p.project))
ORDER BY p.project
LIMIT $3::int
