-- A page of the tasks of a project, at their current revisions.
SELECT h.task AS name, h.state, r.revision, r.digest, r.spec, r.created_at
FROM tenure.task_heads h
JOIN tenure.task_revisions r ON r.project = h.project AND r.task = h.task AND r.revision = h.current_revision
WHERE h.project = $1::text AND h.task > coalesce($2::text, '')
ORDER BY h.task
LIMIT $3::int
